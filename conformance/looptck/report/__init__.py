"""Reports: the data of a run, and the forms it is shown in."""
