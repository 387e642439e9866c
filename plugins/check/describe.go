package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/plugins/host"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// handshake starts the plugin as every host does. The check fails if the plugin works only
// unencrypted. An error means that the command is no plugin for this host, that the policy accepts
// its defaults but not the given options, or that the context ended.
func (c *checker) handshake(ctx context.Context) (Check, error) {
	begun := c.options.Clock()
	remote, err := c.start(ctx, c.options.Policy)
	took := c.options.Clock().Sub(begun)
	if err == nil {
		c.spec = remote.Spec()
		remote.Close()
		c.report.Policy, c.report.Doc = c.spec.Name, c.spec.Doc
		return passed("ready after %s; speaks protocol %d, %s", took.Round(time.Millisecond), wire.Version,
			c.encryption()), nil
	}
	if errors.Is(err, host.ErrNotPlugin) || errors.Is(err, wire.ErrMismatch) || ctx.Err() != nil {
		return Check{}, err
	}
	if len(c.options.Policy) > 0 {
		if remote, plain := c.start(ctx, nil); plain == nil {
			remote.Close()
			return Check{}, &OptionsError{err}
		}
	}
	if !c.options.NoMTLS {
		encrypted := c.options
		c.options.NoMTLS = true
		remote, plain := c.start(ctx, c.options.Policy)
		c.options = encrypted
		if plain == nil {
			remote.Close()
			c.stop = "the plugin only works unencrypted"
			return failed("serve mutual TLS where PLUGIN_CLIENT_CERT is set (plugins/README.md, In another "+
				"language), or do without: check it with --mtls off, and run it with mtls: off in the configuration",
				"it only works unencrypted: %s", c.plain(err)), nil
		}
	}
	// The handshake worked; any other mistake is a matter for later checks.
	return passed("it starts and speaks protocol %d, %s", wire.Version, c.encryption()), nil
}

func (c *checker) encryption() string {
	if c.options.NoMTLS {
		return "unencrypted on a private socket"
	}
	return "encrypted (mTLS)"
}

// describe checks the parts of the plugin's description that users are shown.
func (c *checker) describe(ctx context.Context) (Check, error) {
	const do = "describe the policy with a name of one word, a sentence, and options that each have a name of " +
		"their own, a type, a fitting default and a sentence; an order, if it names one, is built into the host"
	p, err := c.dial(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return Check{}, ctx.Err()
		}
		c.stop = "the plugin does not describe itself"
		check := failed("look at the plugin's log below", "%v", err)
		check.Log = c.tail.last()
		return check, nil
	}
	p.close()
	spec := wire.DecodeSpec(p.description)
	if err = spec.Validate(); err != nil {
		c.stop = "the plugin's description cannot be used"
		return failed(do, "%v", err), nil
	}
	c.report.Policy, c.report.Doc = spec.Name, spec.Doc
	c.declared, c.knows = p.description.GetOptions(), wire.FeaturesOf(p.description)
	var missing []string
	if strings.TrimSpace(spec.Doc) == "" {
		missing = append(missing, "what the policy does")
	}
	for _, o := range spec.Options {
		if strings.TrimSpace(o.Doc) == "" {
			missing = append(missing, "what option "+o.Name+" does")
		}
	}
	if len(missing) > 0 {
		return Check{Verdict: Warning, Seen: fmt.Sprintf("policy %s does not say %s", spec.Name,
			strings.Join(missing, ", nor ")), Do: "write a sentence that users are shown"}, nil
	}
	gives := "gives no guarantees"
	if spec.Guarantees {
		gives = "gives guarantees"
	}
	if spec.Order != "" {
		gives += ", order " + spec.Order + " unless another is chosen"
	}
	if spec.Estimates != "" {
		gives += ", with run times as " + spec.Estimates + " says in simulations"
	}
	return passed("policy %s, %s, %s", spec.Name, count(len(spec.Options), "option"), gives), nil
}

// tryOptions tries the policy's defaults, good values, wrong values, and an option that it does not
// have.
func (c *checker) tryOptions(ctx context.Context) (Check, error) {
	accepted := func(given map[string]string) (string, error) {
		remote, err := c.start(ctx, given)
		if err != nil {
			return c.plain(err), ctx.Err()
		}
		remote.Close()
		return "", nil
	}
	if why, err := accepted(nil); why != "" {
		c.stop = "the policy refuses its own defaults"
		check := failed("let the policy be made with its defaults: New must accept them, and read only declared "+
			"options, as what they are declared to be; in another language, answer a Configure without options "+
			"with Ready", "the policy refuses its own defaults: %s", why)
		check.Log = c.tail.last()
		return check, err
	}
	given := map[string]string{}
	good, wrong := []map[string]string{}, []map[string]string{{"no-such-option": "1"}}
	for _, o := range c.declared {
		if o.GetDefaultValue() != "" {
			given[o.GetName()] = o.GetDefaultValue()
		}
		right, not := values(o)
		for _, v := range right {
			good = append(good, map[string]string{o.GetName(): v})
		}
		for _, v := range not {
			wrong = append(wrong, map[string]string{o.GetName(): v})
		}
	}
	good = append(good, given)
	for i, g := range good {
		c.progress(float64(i) / float64(len(good)+len(wrong)))
		why, err := accepted(g)
		if err != nil {
			return Check{}, err
		}
		if why != "" {
			return failed("accept what the option's type and range declare, or declare less", "%s is refused: %s",
				shown(g), why), nil
		}
	}
	for _, w := range wrong {
		why, err := accepted(w)
		if err != nil {
			return Check{}, err
		}
		if why == "" {
			return failed("refuse options that are not declared, and declare types and ranges for the host to refuse "+
				"wrong values", "%s is accepted", shown(w)), nil
		}
	}
	accepts, refuses := "its defaults are accepted", "an option that it does not have is refused"
	if n := len(good) - 1; n > 0 {
		accepts = "its defaults and " + count(n, "good value") + " are accepted"
	}
	if n := len(wrong) - 1; n > 0 {
		refuses = count(n, "wrong value") + " and an option that it does not have are refused"
	}
	return passed("%s; %s", accepts, refuses), nil
}

func shown(given map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		all = append(all, name+"="+strconv.Quote(given[name]))
	}
	return strings.Join(all, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// values returns some values that an option must accept and some that it must refuse.
func values(o *policyv1.Option) (good, wrong []string) {
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	bounds := func() {
		if o.Low != nil {
			good, wrong = append(good, number(o.GetLow())), append(wrong, number(o.GetLow()-1))
		}
		if o.High != nil {
			good, wrong = append(good, number(o.GetHigh())), append(wrong, number(o.GetHigh()+1))
		}
	}
	switch o.GetType() {
	case policyv1.OptionType_OPTION_TYPE_WHOLE_NUMBER:
		wrong = append(wrong, "many", "1.5")
		bounds()
	case policyv1.OptionType_OPTION_TYPE_NUMBER:
		wrong = append(wrong, "much")
		bounds()
	case policyv1.OptionType_OPTION_TYPE_LENGTH_OF_TIME:
		wrong = append(wrong, "soon", "1:1:1:1:1")
		bounds()
	case policyv1.OptionType_OPTION_TYPE_FLAG:
		good, wrong = []string{"true", "false"}, []string{"perhaps"}
	case policyv1.OptionType_OPTION_TYPE_CHOICE:
		wrong = []string{"no-such-choice"}
		for _, choice := range o.GetChoices() {
			good = append(good, choice, strings.ToUpper(choice))
		}
	default: // any text, or values that only the policy and the pool know
	}
	return good, wrong
}
