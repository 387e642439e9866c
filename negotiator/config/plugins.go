package config

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Plugins says how policies in other processes are found, admitted and supervised. Each, Allow and
// Checksums name a plugin as the setting policy does: a name, with or without backfill-, or a path.
type Plugins struct {
	Dirs []string
	// InProcess runs a linked-in policy in this process instead of one of its own.
	InProcess bool
	// Running says how plugins are run, Each how single ones are; what Each leaves out is as in
	// Running.
	Running
	Each map[string]Running
	// Allow lists the plugins that may be started; nil means all.
	Allow []string
	// Checksums are the SHA-256 sums that some plugins must have at every start.
	Checksums map[string]Checksum
}

// Running is how a plugin is run.
type Running struct {
	// StartTimeout limits the handshake of a plugin that starts, Deadline the decision of a cycle.
	StartTimeout time.Duration
	Deadline     time.Duration
	// MTLS is auto, or off for a plugin that does not support it.
	MTLS string
	// Memory limits a plugin's memory; 0 means no limit.
	Memory Size
	// Processes limits a plugin's processes and threads; 0 means no limit.
	Processes Count
	// User is as whom a plugin runs if the negotiator is root, or was.
	User string
	// Reads are files and folders that a plugin may read besides its own, and Network lets it reach the
	// network.
	Reads   []string
	Network bool
	// Environment names variables that a plugin gets besides the usual ones.
	Environment []string
	// Restarts is how often a repeatedly failing plugin is restarted before it is given up.
	Restarts Count
}

// pluginKey begins the keys of all settings of plugins, and eachKey is that of single ones'.
const (
	pluginKey = "plugins."
	eachKey   = "plugins.each"
)

var plugins = []Setting{
	set(func(c *Config) *[]string { return &c.Plugins.Dirs }, nil, Setting{
		Key: "plugins.dirs", Knob: "BACKFILL_PLUGIN_DIRS", Example: []string{"/usr/local/lib/backfill"},
		Doc:   "Where plugins, backfill-NAME, are looked for first.",
		Check: func(c *Config) error { return named(c.Plugins.Dirs, "paths") },
	}),
	set(func(c *Config) *bool { return &c.Plugins.InProcess }, false, Setting{
		Key: "plugins.in_process", Knob: "BACKFILL_IN_PROCESS",
		Doc: "Link the policy in, if it can be, instead of running it in a process of its own.",
	}),
	set(func(c *Config) *time.Duration { return &c.Plugins.StartTimeout }, 10*time.Second, Setting{
		Key: "plugins.start_timeout", each: true,
		Doc: "How long a plugin may take to be ready.",
		Check: func(c *Config) error {
			return must(c.Plugins.StartTimeout > 0, c.Plugins.StartTimeout, "must be positive")
		},
	}),
	set(func(c *Config) *time.Duration { return &c.Plugins.Deadline }, 10*time.Second, Setting{
		Key: "plugins.deadline", each: true,
		Doc: "How long a plugin may take to decide a cycle.",
		Check: func(c *Config) error {
			return must(c.Plugins.Deadline > 0, c.Plugins.Deadline, "must be positive")
		},
	}),
	set(func(c *Config) *string { return &c.Plugins.MTLS }, "auto", Setting{
		Key: "plugins.mtls", each: true,
		Doc: "auto: the connection is encrypted; off: for plugins that cannot do it, on a socket which only this user can " +
			"reach.",
		Check: func(c *Config) error {
			mtls := c.Plugins.MTLS
			return must(mtls == "auto" || mtls == "off", cmp.Or(mtls, `""`), "must be auto or off")
		},
	}),
	set(func(c *Config) *Size { return &c.Plugins.Memory }, 0, Setting{
		Key: "plugins.memory", each: true,
		Doc:  "How much memory a plugin may use, such as 2GiB; 0: as much as there is.",
		More: "A plugin written in Go needs 128MiB.",
		Check: func(c *Config) error {
			return must(c.Plugins.Memory == 0 || c.Plugins.Memory >= leastMemory, int64(c.Plugins.Memory),
				"must be 0 or at least 1MiB, and a plugin written in Go needs 128MiB")
		},
	}),
	set(func(c *Config) *Count { return &c.Plugins.Processes }, 512, Setting{
		Key: "plugins.processes", each: true,
		Doc: "How many processes and threads a plugin and what it starts may have, on Linux; 0: as many as they like.",
	}),
	set(func(c *Config) *string { return &c.Plugins.User }, "nobody", Setting{
		Key: "plugins.user", Knob: "BACKFILL_PLUGIN_USER", each: true,
		Doc: "As whom plugins run, by name or number, where the negotiator was started as root; otherwise as its user.",
		More: "The user must be able to read and execute them, and must not be root. A user of their own keeps them from what " +
			"others leave open to nobody.",
		Check: func(c *Config) error {
			user := c.Plugins.User
			return must(user != "" && user != "root" && user != "0", cmp.Or(user, `""`), "must be a user other than root")
		},
	}),
	set(func(c *Config) *[]string { return &c.Plugins.Reads }, nil, Setting{
		Key: "plugins.reads", Knob: "BACKFILL_PLUGIN_READS", each: true, Example: []string{"/usr/local/share/backfill"},
		Doc: "Files and folders that plugins may read and execute, besides their own and the system's programs, on Linux.",
		More: "Their own are the executable and, for a script, its folder, if that is not a home, or above one. Nothing " +
			"can be written but temporary files.",
		Check: func(c *Config) error {
			return must(!slices.ContainsFunc(c.Plugins.Reads, func(path string) bool { return !filepath.IsAbs(path) }),
				c.Plugins.Reads, "must be absolute paths")
		},
	}),
	set(func(c *Config) *bool { return &c.Plugins.Network }, false, Setting{
		Key: "plugins.network", Knob: "BACKFILL_PLUGIN_NETWORK", each: true,
		Doc: "Let plugins reach the network. On Linux they do not.",
	}),
	set(func(c *Config) *[]string { return &c.Plugins.Environment }, nil, Setting{
		Key: "plugins.environment", each: true, Example: []string{"PYTHONPATH"},
		Doc: "Variables that plugins get besides the usual ones, such as PATH and LANG: all others may hold secrets.",
		Check: func(c *Config) error {
			return must(!slices.ContainsFunc(c.Plugins.Environment, notVariable), c.Plugins.Environment,
				"must be names of variables")
		},
	}),
	set(func(c *Config) *Count { return &c.Plugins.Restarts }, 5, Setting{
		Key: "plugins.restarts", each: true,
		Doc: "How often a plugin that fails again and again is restarted before it is given up.",
	}),
	set(func(c *Config) *map[string]Running { return &c.Plugins.Each }, nil, Setting{
		Key:     eachKey,
		Doc:     "What is otherwise for single plugins: all that follows start_timeout, up to restarts.",
		More:    "They are named as under policy, with or without backfill-.",
		Example: map[string]map[string]string{"backfill-py": {"mtls": "off", "deadline": "2s"}},
		Check: func(c *Config) error {
			return named(slices.Sorted(maps.Keys(c.Plugins.Each)), "given for names or paths")
		},
	}),
	set(func(c *Config) *[]string { return &c.Plugins.Allow }, nil, Setting{
		Key: "plugins.allow", Absent: true, Example: []string{"backfill-mine", "/opt/site/backfill-other"},
		Doc:   "The plugins that may be started; all where nothing is said.",
		More:  "What is linked in always may run, but a name means the plugin if there is one.",
		Check: func(c *Config) error { return named(c.Plugins.Allow, "names or paths") },
	}),
	set(func(c *Config) *map[string]Checksum { return &c.Plugins.Checksums }, nil, Setting{
		Key: "plugins.checksums",
		Doc: "SHA-256 sums that executables must have, at every start.",
		More: "On Linux the file that is started is the one whose sum was taken, whatever happens to its name. Whoever may " +
			"write the file itself could still change it in between, and a script's sum says nothing of what it loads: " +
			"leave both to nobody but the administrator.",
		Example: map[string]string{
			"backfill-mine": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		},
		Check: func(c *Config) error {
			return named(slices.Sorted(maps.Keys(c.Plugins.Checksums)), "given for names or paths")
		},
	}),
}

// named errs if one of several names is empty.
func named(names []string, rule string) error {
	return must(!slices.Contains(names, ""), fmt.Sprintf("%q", names), "must be "+rule)
}

// notVariable tells whether a text cannot be the name of a variable.
func notVariable(name string) bool { return name == "" || strings.ContainsAny(name, "=\x00") }

// leastMemory is the smallest memory limit; a smaller one probably lacks its unit.
const leastMemory = 1 << 20

// Count is a whole number of at least 0 in a configuration file.
type Count int

// UnmarshalYAML reads a number; errors name the place in the file.
func (c *Count) UnmarshalYAML(node ast.Node) error {
	text := plain(node)
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return &yaml.SyntaxError{
			Message: text + " is no whole number of at least 0, or too large",
			Token:   node.GetToken(),
		}
	}
	*c = Count(n)
	return nil
}

// Size is an amount of bytes in a configuration file, such as 512MiB.
type Size int64

// UnmarshalYAML reads a size; errors name the place in the file.
func (s *Size) UnmarshalYAML(node ast.Node) error {
	text := plain(node)
	digits := strings.TrimRight(text, "BKMGTi")
	n, err := strconv.ParseInt(digits, 10, 64)
	shift, known := map[string]uint{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[text[len(digits):]]
	if err != nil || !known || n < 0 || n > math.MaxInt64>>shift {
		return &yaml.SyntaxError{Message: text + " is no size such as 512MiB or 2GiB", Token: node.GetToken()}
	}
	*s = Size(n << shift)
	return nil
}

// Checksum is a SHA-256 sum.
type Checksum [32]byte

// UnmarshalYAML reads a sum; errors name the place in the file.
func (c *Checksum) UnmarshalYAML(node ast.Node) error {
	text := plain(node)
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != len(c) {
		return &yaml.SyntaxError{
			Message: text + " is no SHA-256 sum: 64 hexadecimal digits, as sha256sum prints them",
			Token:   node.GetToken(),
		}
	}
	*c = Checksum(sum)
	return nil
}

// plain returns the text of a node without quotes.
func plain(node ast.Node) string { return strings.Trim(node.String(), `"'`) }
