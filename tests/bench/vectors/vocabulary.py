"""The pieces that have a vector: whole words first, parts of the rarer ones.

A word is cut from its beginning into the longest pieces that are known. A piece that
begins a word is marked; scripts without blanks, and Korean, have no such mark.
"""

from collections import Counter

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

MARK = "\u2581"
ASIAN = "\u0e00"  # from here on scripts need no mark
SIZES = {
    "en": 24_000,
    "de": 6_500,
    "es": 3_500,
    "fr": 3_500,
    "pt": 3_500,
    "ru": 6_500,
    "ko": 6_000,
    "zh": 6_000,
    "ja": 5_500,
}
GROWN = 1800  # pieces that a language gets beside those it has
LEAST_GROWN = 12  # times that such a word stands in the texts
LONGEST = 20  # letters of it
LEAST = 3  # times that a character or a pair of characters stands in the texts


def marked(word):
    return word if word >= ASIAN else MARK + word


def cut(word, known):
    """The pieces of a word; a character that no piece has is left out."""
    text = marked(word)
    start = 0
    found = []
    while start < len(text):
        for end in range(len(text), start, -1):
            if text[start:end] in known:
                found.append(known[text[start:end]])
                start = end
                break
        else:
            start += 1
    return found


def learned(counts, size):
    """Pieces by merging the most frequent neighbours (Sennrich et al. 2016)."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=int(size * 1.4), show_progress=False, limit_alphabet=1500
    )
    words = [
        (marked(word), min(count, 2000)) for word, count in counts.items() if count > 1
    ]
    tokenizer.train_from_iterator(
        (f"{word} " * count for word, count in words), trainer
    )
    used = Counter()
    for word, count in words:
        for piece in tokenizer.encode(word).tokens:
            used[piece] += count
    whole = {piece for piece in used if len(piece) == 1}
    return [
        piece for piece, _ in used.most_common(size - len(whole)) if piece not in whole
    ] + sorted(whole)


def vocabulary(counts):
    """The pieces of all languages, from how often each has its words."""
    found = {MARK: None}
    for language, size in SIZES.items():
        words = {
            word: n for word, n in counts[language].items() if belongs(word, language)
        }
        if language in ("zh", "ja"):
            chars = Counter()
            for word, count in words.items():
                for char in word:
                    chars[char] += count
            pieces = [char for char, count in chars.most_common(3000) if count >= LEAST]
            pairs = Counter(words).most_common(size - len(pieces) // 2)
            pieces += [word for word, count in pairs if count >= LEAST]
        else:
            pieces = learned(words, size)
        found |= dict.fromkeys(pieces)
    return list(found)


def grown(counts, before):
    """More pieces: the words of each language that are most often cut, and that no
    English text has."""
    known = {piece: place for place, piece in enumerate(before)}
    found = {}
    for language in SIZES.keys() - {"en"}:
        rare = [
            (-count, word)
            for word, count in counts[language].items()
            if count >= LEAST_GROWN
            and len(word) <= LONGEST
            and word not in counts["en"]
            and belongs(word, language)
            and len(cut(word, known)) > 1
        ]
        words = [marked(word) for _, word in sorted(rare)[:GROWN]]
        found |= dict.fromkeys(words)
    return sorted(found)


def belongs(word, language):
    """Whether the word is in the script of the language."""
    first = word[0]
    if language in ("zh", "ja"):
        return "\u3040" <= first <= "\u30ff" or "\u3400" <= first <= "\u9fff"
    if language == "ko":
        return "\uac00" <= first <= "\ud7a3"
    if language == "ru":
        return "\u0400" <= first <= "\u04ff"
    return first < "\u0370"
