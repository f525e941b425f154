"""Conversations, chat templates and forms of prompts."""
