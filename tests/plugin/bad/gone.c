int gone(void);
int gone(void) { return 1; }
