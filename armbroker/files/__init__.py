"""Files of recipes and arms, one each, for version control."""
