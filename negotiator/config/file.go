package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

// Load returns the defaults, overridden by a file. Errors name file, line and column.
func Load(path string) (Config, error) { return LoadOver(Default(), path) }

// LoadOver returns a configuration, overridden by a file. Errors name file, line and column.
func LoadOver(c Config, path string) (Config, error) {
	content, err := strictyaml.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read the configuration: %w", err)
	}
	if err = c.decode(content); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func (c *Config) decode(content []byte) error {
	tree, err := strictyaml.ParseTree(content)
	if err == nil {
		err = c.take(tree, tree.Root(), "", func(Setting) bool { return true })
	}
	if err != nil {
		return shown(err)
	}
	var errs []error
	for _, f := range c.faults() {
		errs = append(errs, f.locate(tree.File))
	}
	return errors.Join(errs...)
}

// take reads a mapping whose keys follow a prefix in the table. Only settings that may be set there
// are known.
func (c *Config) take(tree *strictyaml.Tree, mapping ast.Node, prefix string, may func(Setting) bool) error {
	entries := tree.Entries(mapping)
	slices.SortStableFunc(entries, func(a, b *ast.MappingValueNode) int { return late(a) - late(b) })
	for _, entry := range entries {
		var key string
		if err := tree.Decode(entry.Key, &key); err != nil {
			return err
		}
		s := Named(prefix + key)
		var err error
		switch {
		case prefix+key+"." == pluginKey:
			err = c.takeMapping(tree, entry.Value, pluginKey, may)
		case s == nil || s.Key != prefix+key || !may(*s):
			err = unknown(entry.Key, key, prefix, may)
		case s.Key == eachKey:
			err = c.takeEach(tree, entry.Value)
		default:
			err = read(tree, entry.Value, s.Target(c))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unknown is the error for a key that no setting has.
func unknown(node ast.Node, key, prefix string, may func(Setting) bool) error {
	var known []string
	for _, s := range Settings() {
		if name, within := strings.CutPrefix(s.Key, prefix); within && name != "" && may(s) {
			name, _, _ = strings.Cut(name, ".")
			known = append(known, name)
		}
	}
	return &yaml.SyntaxError{
		Message: fmt.Sprintf("unknown field %q%s", key, backfill.DidYouMean(key, known)), Token: node.GetToken(),
	}
}

// late puts settings of single plugins behind those of all, which they go by.
func late(entry *ast.MappingValueNode) int {
	if pluginKey+entry.Key.GetToken().Value == eachKey {
		return 1
	}
	return 0
}

// takeMapping is take for a value that must be a mapping, or nothing.
func (c *Config) takeMapping(tree *strictyaml.Tree, value ast.Node, prefix string, may func(Setting) bool) error {
	if value.Type() == ast.NullType {
		return nil
	}
	if err := tree.Decode(value, new(map[string]any)); err != nil {
		return err
	}
	return c.take(tree, value, prefix, may)
}

// takeEach reads the settings of single plugins: what the file leaves out is as for all.
func (c *Config) takeEach(tree *strictyaml.Tree, value ast.Node) error {
	if value.Type() == ast.NullType {
		return nil
	}
	if err := tree.Decode(value, new(map[string]any)); err != nil {
		return err
	}
	c.Plugins.Each = map[string]Running{}
	for _, entry := range tree.Entries(value) {
		var name string
		if err := tree.Decode(entry.Key, &name); err != nil {
			return err
		}
		one := *c
		if err := one.takeMapping(tree, entry.Value, pluginKey, func(s Setting) bool { return s.each }); err != nil {
			return err
		}
		c.Plugins.Each[name] = one.Plugins.Running
	}
	return nil
}

// read reads a value of the file. Nothing in the place of a value leaves it as it is.
func read(tree *strictyaml.Tree, node ast.Node, into any) error {
	if node.Type() == ast.NullType {
		return nil
	}
	length, ok := into.(*time.Duration)
	if !ok {
		return tree.Decode(node, into)
	}
	var text string
	err := tree.Decode(node, &text)
	parsed, wrong := time.ParseDuration(text)
	if err != nil || wrong != nil {
		return at(node, "is no length of time such as 10s or 24h")
	}
	*length = parsed
	return nil
}

// at is an error about a node.
func at(node ast.Node, wrong string) error {
	return &yaml.SyntaxError{Message: node.String() + " " + wrong, Token: node.GetToken()}
}

// fault is an invalid setting.
type fault struct {
	path []string // of the setting in the file, such as plugins, mtls
	err  error
}

func (f fault) Error() string { return strings.Join(f.path, ".") + ": " + f.err.Error() }

func (f fault) Unwrap() error { return f.err }

// Key returns the setting's path as one word, such as plugins_mtls; callers name it in errors.
func (f fault) Key() string { return strings.Join(f.path, "_") }

// locate returns the fault with the place of its setting in the file, if the file has the setting.
func (f fault) locate(file *ast.File) error {
	node, err := find(file, f.path...)
	if err != nil {
		return f
	}
	return shown(&yaml.SyntaxError{Message: f.Error(), Token: node.GetToken()})
}

// shown formats an error with the lines around its place.
func shown(err error) error {
	return errors.New(strings.TrimRight(yaml.FormatError(err, false, true), "\n"))
}

// find returns the node of the setting at a path of keys; an error if the file does not have it.
func find(file *ast.File, keys ...string) (ast.Node, error) {
	path := (&yaml.PathBuilder{}).Root()
	for _, key := range keys {
		path = path.Child(key)
	}
	return path.Build().FilterFile(file)
}

// Locate adds to an error the configuration file's name and, if the file has the setting that
// caused the error, the place. key is the setting's path, such as plugins, mtls. If the file cannot
// be read, the error stays as it is.
func Locate(path string, wrong error, key ...string) error {
	content, err := strictyaml.ReadFile(path)
	if err != nil {
		return wrong
	}
	file, err := strictyaml.Parse(content)
	if err != nil {
		return wrong
	}
	return fmt.Errorf("%s: %w", path, fault{key, wrong}.locate(file))
}

// Validate returns an error that names every invalid setting, with its value and the rule.
func (c Config) Validate() error {
	var errs []error
	for _, f := range c.faults() {
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}

func (c Config) faults() (all []fault) {
	for _, s := range settings() {
		if f := s.fault(&c); f != nil {
			all = append(all, *f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Plugins.Each)) {
		one := c
		one.Plugins.Running = c.Plugins.Each[name]
		for _, s := range settings() {
			if f := s.fault(&one); s.each && f != nil {
				all = append(all, fault{slices.Insert(f.path, 1, "each", name), f.err})
			}
		}
	}
	return all
}
