"""A durable middle tier for CopilotKit chats on LangGraph agents."""

__version__ = "0.1.0"
