package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/cli/grammar"
)

// Values are the names that a shell offers for --policy, --order and --log-level: of these policies
// and more, of all orders and levels.
func Values(specs []backfill.PolicySpec, more ...string) grammar.Values {
	names, orders := slices.Clone(more), []string(nil)
	for _, spec := range specs {
		names = append(names, spec.Name)
	}
	for _, order := range backfill.Orders() {
		orders = append(orders, order.Name)
	}
	return grammar.Values{"policy": names, "order": orders, "log-level": strings.Split(LogLevels, ",")}
}

// lengthOfTime reads a flag that is a length of time, such as 90s or 2h; a number alone is seconds.
func lengthOfTime(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("duration")
	if err != nil {
		return err
	}
	text := fmt.Sprint(token.Value)
	if _, notSeconds := strconv.ParseUint(text, 10, 64); notSeconds == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("expected duration but got %q: %w", token.Value, err)
	}
	target.SetInt(int64(d))
	return nil
}
