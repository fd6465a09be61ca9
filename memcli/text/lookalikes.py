"""Letters of other alphabets that look like Latin ones."""

LOOKALIKES = str.maketrans(
    "аеорсухіјѕһԁԛԝѵɡɩοανρτυικеАВЕКМНОРСТХУІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijshdqwvgioavptuikeABEKMHOPCTXYIJSABEZHIKMNOPTYX",
)
