"""What the Space allows its visitors, and how often it looks for new runs."""

REFRESH = 60  # seconds between looks at the sources
PROMPT = 6000  # characters of a visitor's prompt or answer
DOCUMENT = 12_000  # characters of a visitor's document, in the playground's check of grounding
TOKENS = 512  # of one answer, of the model or of the judge; four times as many to check grounding
CRITERIA = 12  # in a visitor's checklist
SECONDS = 180  # that one request may take, a third of them until the model begins to answer
QUEUE = 24  # visitors waiting at a time; further ones are turned away
AT_A_TIME = 1  # playground requests worked on
UPLOAD_MIB = 64  # size of an uploaded file
