// Package grammar is the part of the command line that all commands of the project share:
// --version, completion, man.
package grammar

import (
	"io"

	"github.com/alecthomas/kong"

	"github.com/condor-backfill/condor-backfill/plugins/version"
)

// Common adds to a grammar what every command has: --version, and the commands completion and man.
// A command that speaks a protocol with plugins also has the option [Speaks], and one with flags
// whose values have names, [Values].
func Common() kong.Option {
	return kong.OptionFunc(func(k *kong.Kong) error {
		if err := kong.Bind(Speaks(""), Values(nil)).Apply(k); err != nil {
			return err
		}
		return kong.Embed(&common{}).Apply(k)
	})
}

// common is the part of the grammar that all commands share.
type common struct {
	Version versionFlag `help:"Print the version, the commit and the Go that this was built with, and exit."`

	Completion completionCommand `cmd:"" help:"Print a script that makes a shell complete commands and flags."`
	Man        manCommand        `cmd:"" help:"Print the page of the manual."`
	Complete   completeCommand   `cmd:"" hidden:""`
}

// Speaks is the name of the protocol that a command speaks with plugins.
type Speaks string

// Apply makes Speaks a [kong.Option].
func (s Speaks) Apply(k *kong.Kong) error { return kong.Bind(s).Apply(k) }

type versionFlag bool

// BeforeReset prints the version before anything else is checked, such as arguments that are
// missing.
func (versionFlag) BeforeReset(k *kong.Kong, protocol Speaks) error {
	_, err := io.WriteString(k.Stdout, version.Text(k.Model.Name, string(protocol)))
	k.Exit(0)
	return err
}
