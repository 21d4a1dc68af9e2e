"""The built-in agent: answers questions from the team's knowledge base and says where the answer stands."""
