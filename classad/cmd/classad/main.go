// Command classad evaluates, matches and measures ClassAds.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // makes a closed pipe an ordinary error
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
