// Package cli is the common part of the project's commands: exit codes, error output, logging,
// interruption, tables and JSON, progress bars, files for pprof, and what a shell completes.
//
// Exit codes: 0 success; 1 something failed on the way; 2 bad input (a flag, a file, a policy); 130
// interrupted.
package cli
