"""The model without a key: `model` is LangChain's chat model, `answers` decides and quotes, `orders` reads commands in a sentence."""
