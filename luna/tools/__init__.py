"""What an agent may use. Every tool stays inside the workspace and answers with text, never with an exception."""
