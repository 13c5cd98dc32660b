"""Operations worth a second, faster version, each beside its plain twin."""
