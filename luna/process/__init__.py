"""Child processes: started, followed, ended in whole groups, talked to, confined."""
