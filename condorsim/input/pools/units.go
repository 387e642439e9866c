package pools

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// scalar returns the text of a value that is one word or a quoted text.
func scalar(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return node.GetToken().Value, nil
	default:
		return "", fault(node, "is not one value")
	}
}

// fault returns an error that shows its line with a caret.
func fault(node ast.Node, format string, args ...any) error {
	text := node.String()
	if len(text) > 40 || strings.Contains(text, "\n") {
		text = "this"
	}
	return &yaml.SyntaxError{Message: text + " " + fmt.Sprintf(format, args...), Token: node.GetToken()}
}

// size is an amount of memory or disk in bytes: a number with a unit, such as 512GiB. Without a
// unit it is in the unit of its resource.
type size struct {
	number float64
	unit   float64 // in bytes; 0: none given
}

var units = map[string]float64{
	"": 0, "b": 1,
	"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "pib": 1 << 50,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "pb": 1e15,
}

// UnmarshalYAML reads an amount such as 512GiB.
func (s *size) UnmarshalYAML(node ast.Node) error {
	text, err := scalar(node)
	if err != nil {
		return err
	}
	end := strings.LastIndexAny(text, "0123456789.") + 1
	number, err := strconv.ParseFloat(text[:end], 64)
	unit, known := units[strings.ToLower(strings.TrimSpace(text[end:]))]
	if err != nil || !known || !(number >= 0) || number*max(unit, 1) > backfill.MaxInputAmount*(1<<20) {
		return fault(node, "is no amount such as 512GiB")
	}
	*s = size{number: number, unit: unit}
	return nil
}

// in returns the amount in units of so many bytes, rounded down. An amount that was given without a
// unit is returned as it is.
func (s size) in(unit float64) int64 {
	if s.unit == 0 {
		return int64(min(s.number, backfill.MaxInputAmount))
	}
	return int64(min(math.Floor(s.number*s.unit/unit), backfill.MaxInputAmount))
}

// span is a length of time in seconds: a number, or one with units such as 36h or 1h30m; d is days.
type span backfill.Time

// UnmarshalYAML reads a length of time such as 36h.
func (s *span) UnmarshalYAML(node ast.Node) error {
	text, err := scalar(node)
	if err != nil {
		return err
	}
	seconds, err := parseSpan(text)
	if err != nil {
		return fault(node, "is no length of time such as 3600, 90m, 36h or 30d")
	}
	*s = span(seconds)
	return nil
}

// moment is when something begins: a length of time from the first submission on, or a date or Unix time.
type moment struct {
	after span
	date  string // "": none is given
}

// dated matches dates and Unix times, which no simulation lasts for.
var dated = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?|[0-9]{10})$`)

// UnmarshalYAML reads a length of time, a date such as 2026-06-01 12:00, or a Unix time.
func (m *moment) UnmarshalYAML(node ast.Node) error {
	text, err := scalar(node)
	if err != nil {
		return err
	}
	if dated.MatchString(text) {
		m.date = text
		return nil
	}
	if m.after.UnmarshalYAML(node) != nil {
		return fault(node, "is no length of time such as 3600, 90m, 36h or 30d, and no date such as 2026-06-01 12:00")
	}
	return nil
}

func parseSpan(text string) (float64, error) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && 0 <= seconds && seconds <= backfill.MaxTime {
		return float64(seconds), nil
	}
	if days, found := strings.CutSuffix(text, "d"); found {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || !(0 <= n && n <= backfill.MaxTime/86400) {
			return 0, errors.New("no number of days")
		}
		return math.Round(n * 86400), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d%time.Second != 0 {
		return 0, errors.New("no whole number of seconds")
	}
	return d.Seconds(), nil
}

// expression is a ClassAd expression. Numbers and booleans of YAML are expressions as well.
type expression struct {
	expr *classad.Expr
}

// UnmarshalYAML parses an expression; a text in it needs its own quotes.
func (e *expression) UnmarshalYAML(node ast.Node) error {
	text, err := scalar(node)
	if err != nil {
		return fault(node, "is no ClassAd expression; put it in quotes")
	}
	if e.expr, err = classad.ParseExpr(text); err != nil {
		return fault(node, "is no ClassAd expression: %v", err)
	}
	return nil
}
