"""response_config.json: where it is found, its model, and the plan that it gives each tool."""
