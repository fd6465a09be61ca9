"""How the word vectors of the package are made, from the texts of free packages."""
