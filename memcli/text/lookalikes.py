"""Letters of other alphabets that look like Latin ones."""

from typing import Final

LOOKALIKES: Final = str.maketrans(
    "аеорсухіјѕһԁԛԝѵɡɩοανρτυικеАВЕКМНОРСТХУІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijshdqwvgioavptuikeABEKMHOPCTXYIJSABEZHIKMNOPTYX",
)
