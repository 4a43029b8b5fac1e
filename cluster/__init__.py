"""Ray clusters wherever a user has one, and the `mulex` command that puts the layers together."""
