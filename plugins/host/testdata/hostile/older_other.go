//go:build !amd64

package main

// older returns an error: this processor has no older calls.
func older() int32 { return -1 }
