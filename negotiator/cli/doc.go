// Package cli is what the project's commands have in common: exit codes, error
// output, logging, interruption, progress bars.
//
// Exit codes: 0 done; 1 something failed on the way; 2 the input was bad (a
// flag, a file, a policy); 130 interrupted.
package cli
