"""The LLM validator: whether the criteria of an instance can be used as they are (paper 000, section 3.4, appendix D).

The one call for whoever has criteria to validate is `validator.validate_instance`; what it gives is in `findings`:

    schemas = SchemaFallback(self.caller("validator"))               # once a study
    found = await validate_instance(schemas, instance, self.options.prompts)
    found.label                                                      # PASS, FAIL, or None: `found.problem` says why
    [(one.kind, one.turn, one.criterion, one.reason, one.change, one.proposal) for one in found.findings]

A study that calls it names the prompt `validate_criteria` among its `prompts`.
"""
