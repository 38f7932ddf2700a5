"""The playground: an answer judged by a checklist and improved, or held against a document."""
