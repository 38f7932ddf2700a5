"""From a rule and a response to what it measures, and to whether the rule is met."""
