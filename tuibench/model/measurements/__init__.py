"""What is measured: samples, activity on the server, the environment, findings, costs and steadiness."""
