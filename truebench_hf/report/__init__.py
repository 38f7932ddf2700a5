"""Tables, conversations and sheets for people, and how each is shown."""
