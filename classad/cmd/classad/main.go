// Command classad evaluates, matches and measures ClassAds.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // a pipe that nobody reads is an error as any other
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
