"""What a command asks for, whichever process it runs in: composes flows, search and stores."""
