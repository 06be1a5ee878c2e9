"""How the hardware catalogue is shown."""
