"""What the profile lesson4 adds to the kit: scenarios, observation, evidence; its suite is in `suite.lesson4`."""
