complete --keep-order --exclusive --command kurabe --arguments "(KURABE_COMPLETE=fish kurabe -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
