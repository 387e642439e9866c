package ask

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// submitFile is what a submit file says up to its first queue. Names are in lower case, as they ignore it.
type submitFile struct {
	described

	names  []string // in the order in which they first came
	values map[string]string
	read   map[string]bool // by macros
	gpus   []string        // what is required of GPUs
	must   []string        // of Requirements
}

// heeded are the commands of submit files by which a job is planned or matched, and how they are read.
var heeded = map[string]func(s *submitFile, name, value string) error{
	"request_memory": (*submitFile).amount, "request_disk": (*submitFile).amount,
	"require_gpus":            func(s *submitFile, _, value string) error { return s.gpusMust("(" + value + ")") },
	"gpus_minimum_capability": gpusLimit("GPUsMinCapability", "Capability >= "),
	"gpus_maximum_capability": gpusLimit("GPUsMaxCapability", "Capability <= "),
	"gpus_minimum_memory":     (*submitFile).gpusMemory,
	"gpus_minimum_runtime":    (*submitFile).gpusRuntime,
	"machine_count":           expression("MinHosts"),
	"rank":                    expression("Rank"), "preferences": expression("Rank"),
	"requirements":             func(s *submitFile, _, value string) error { return s.mustBe("(" + value + ")") },
	"priority":                 expression("JobPrio"),
	"prio":                     expression("JobPrio"),
	"allowed_execute_duration": expression("AllowedExecuteDuration"),
	"allowed_job_duration":     expression("AllowedJobDuration"),
	"concurrency_limits":       textOf("ConcurrencyLimits"),
	"concurrency_limits_expr":  expression("ConcurrencyLimits"),
	"accounting_group":         textOf("AcctGroup"),
	"accounting_group_user":    textOf("AcctGroupUser"),
	"executable":               textOf("Cmd"),
	"universe":                 (*submitFile).universe,
	"hold":                     (*submitFile).hold,
}

// unheeded are commands that may let a job start later, or elsewhere, and are not heeded.
var unheeded = regexp.MustCompile(`^((cron|deferral)_\w+|nice_user|max_idle|image_size|(disk|memory)_usage)$`)

// harmless are commands that change nothing of where and when a job may start.
var harmless = regexp.MustCompile(`^((allow|append|batch|buffer|checkpoint|compress|container|copy|docker|dont|` +
	`dagman|email|encrypt|erase|fetch|jar|java|job|kill|log|max|match|next|notify|on|output|periodic|preserve|` +
	`public|remote|` +
	`remove|run|should|skip|stack|starter|stream|submit|success|tool|transfer|ulog|use|vm|want|when|x509)_\w+|` +
	`arguments2?|args|coresize|core_size|cmd|description|env|environment2?|err|error|getenv|get_env|in|initialdir|` +
	`initial_dir|input|interactive|keep_claim_idle|kill_sig|leave_in_queue|load_profile|local_files|log|manifest|` +
	`max_retries|noop_job|notification|notify_user|out|output|rendezvousdir|retry_until|stderr|stdin|stdout|` +
	`x509userproxy|\w+_oauth_\w+|batch_name|job_\w+|failure_\w+|jobset\w*|oauth_\w+|hold_kill_sig)$`)

var (
	queueLine  = regexp.MustCompile(`(?i)^queue\b\s*([^=]*)$`)
	otherLine  = regexp.MustCompile(`(?i)^(if|elif|else|endif|include|use)\b[^=]*(:|$|\s(defined|version)\s|\s[<>=]=)`)
	otherMacro = regexp.MustCompile(`\$\w*\(`)
	macro      = regexp.MustCompile(`\$\(([^()$]*)\)`)
	own        = regexp.MustCompile(`(?i)^(?:\+\s*|my\.)(\w+)$`)
)

// readSubmit reads those commands of a submit file that count for the plan, up to its first queue.
func readSubmit(source string) (d described, err error) {
	s := submitFile{described: described{ad: classad.New()}, values: map[string]string{}, read: map[string]bool{}}
	if err = s.scan(source); err != nil {
		return d, err
	}
	for _, name := range s.names {
		if err = s.heed(name); err != nil {
			return d, err
		}
	}
	s.doubt()
	return s.described, s.require()
}

// scan reads the lines.
func (s *submitFile) scan(source string) error {
	source = strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(source)
	queued := false
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if parts := queueLine.FindStringSubmatch(line); parts != nil {
			if n, err := strconv.Atoi(strings.TrimSpace(parts[1])); queued || n > 1 || err != nil && parts[1] != "" {
				s.notes = append(s.notes, fmt.Sprintf("of the jobs that %q queues this is about one",
					backfill.Printable(line, 60)))
			}
			if queued {
				return nil
			}
			queued = true
		}
		name, value, ok := strings.Cut(line, "=")
		switch {
		case queued || line == "" || strings.HasPrefix(line, "#"):
			continue
		case otherLine.MatchString(line):
			return fmt.Errorf("%q: conditions and includes are not read here; write what holds", backfill.Printable(line, 60))
		case !ok:
			return fmt.Errorf("%q is no command of a submit file: must be such as request_cpus = 2",
				backfill.Printable(line, 60))
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if parts := own.FindStringSubmatch(name); parts != nil {
			name = "+" + parts[1]
		} else {
			name = strings.ToLower(name)
		}
		if _, known := s.values[name]; !known {
			s.names = append(s.names, name)
		}
		s.values[name] = value
	}
	return nil
}

// heed reads one command, if it counts.
func (s *submitFile) heed(name string) error {
	how := heeded[name]
	if attribute, isOwn := strings.CutPrefix(name, "+"); isOwn {
		how = expression(attribute)
	} else if resource, requests := cutFold(name, "request_"); requests && how == nil {
		for _, known := range []string{"cpus", "memory", "disk", "gpus"} {
			if len(resource) > 2 && len(resource) < len(known) && strings.HasPrefix(known, resource) {
				return fmt.Errorf("%s is no command of submit files, did you mean request_%s?", name, known)
			}
		}
		how = expression("Request" + negotiator.Attribute(resource))
	} else if resource, requires := cutFold(name, "require_"); requires && how == nil {
		how = expression("Require" + negotiator.Attribute(resource))
	}
	if how == nil {
		return nil
	}
	value, err := s.expand(s.values[name], 0)
	if err == nil {
		err = how(s, name, value)
	}
	if err != nil {
		return fmt.Errorf("%s = %s: %w", name, backfill.Printable(s.values[name], 60), err)
	}
	return nil
}

// expand puts in what macros stand for that the file itself defines.
func (s *submitFile) expand(value string, depth int) (string, error) {
	const deepest = 20
	var unknown error
	value = macro.ReplaceAllStringFunc(value, func(use string) string {
		name, byDefault, hasDefault := strings.Cut(use[2:len(use)-1], ":")
		name = strings.ToLower(strings.TrimSpace(name))
		defined, known := s.values[name]
		if !known && hasDefault {
			return byDefault
		}
		if !known || depth == deepest {
			unknown = fmt.Errorf("%s is not defined in the file: write what it stands for", use)
			return use
		}
		s.read[name] = true
		expanded, err := s.expand(defined, depth+1)
		if err != nil {
			unknown = err
		}
		return expanded
	})
	if unknown == nil && otherMacro.MatchString(value) {
		unknown = errors.New("such macros are not expanded here: write what they stand for")
	}
	return value, unknown
}

// doubt says once what is not heeded.
func (s *submitFile) doubt() {
	var not, unknown []string
	for _, name := range s.names {
		for _, used := range macro.FindAllStringSubmatch(s.values[name], -1) {
			before, _, _ := strings.Cut(used[1], ":")
			s.read[strings.ToLower(strings.TrimSpace(before))] = true
		}
	}
	known := make([]string, 0, len(heeded))
	for name := range heeded {
		known = append(known, name)
	}
	slices.Sort(known)
	for _, name := range s.names {
		_, heeds := heeded[name]
		switch {
		case unheeded.MatchString(name):
			not = append(not, name)
		case heeds || s.read[name] || harmless.MatchString(name) || strings.HasPrefix(name, "+"):
		case strings.HasPrefix(name, "request_") || strings.HasPrefix(name, "require_"):
		default:
			unknown = append(unknown, name+strings.TrimSuffix(backfill.DidYouMean(name, known), "?"))
		}
	}
	if len(not) > 0 {
		s.notes = append(s.notes, "not heeded: "+strings.Join(not, ", "))
	}
	if len(unknown) > 0 {
		s.notes = append(s.notes, "not heeded, as no command of submit files: "+strings.Join(unknown, "; "))
	}
}

// require sets what the job requires, as condor_submit does.
func (s *submitFile) require() error {
	if len(s.gpus) > 0 {
		if err := s.ad.SetExpr("RequireGPUs", strings.Join(s.gpus, " && ")); err != nil {
			return fmt.Errorf("what is required of GPUs: %w", err)
		}
	}
	group, has := s.ad.Text("AcctGroup")
	if user, given := s.ad.Text("AcctGroupUser"); has && given {
		s.ad.SetString("AccountingGroup", group+"."+user)
	} else if has {
		s.ad.SetString("AccountingGroup", group)
	}
	if s.must = append(s.must, clauses(s.ad)...); len(s.must) == 0 {
		return nil
	}
	if err := s.ad.SetExpr("Requirements", strings.Join(s.must, " && ")); err != nil {
		return fmt.Errorf("requirements: %w", err)
	}
	return nil
}

func (s *submitFile) mustBe(clause string) error { s.must = append(s.must, clause); return nil }

func (s *submitFile) gpusMust(clause string) error { s.gpus = append(s.gpus, clause); return nil }

// expression reads a command as an attribute's expression.
func expression(attribute string) func(*submitFile, string, string) error {
	return func(s *submitFile, _, value string) error { return s.ad.SetExpr(attribute, value) }
}

// textOf reads a command as an attribute's text.
func textOf(attribute string) func(*submitFile, string, string) error {
	return func(s *submitFile, _, value string) error {
		s.ad.SetString(attribute, strings.Trim(value, `"`))
		return nil
	}
}

// amount reads an amount that may have a unit.
func (s *submitFile) amount(name, value string) error {
	resource := strings.TrimPrefix(name, "request_")
	if !negotiator.IsAmount(value) {
		return s.ad.SetExpr("Request"+negotiator.Attribute(resource), value)
	}
	n, err := negotiator.ReadAmount(resource, value)
	s.ad.SetInt("Request"+negotiator.Attribute(resource), n)
	return err
}

// gpusLimit reads a bound of a property of GPUs.
func gpusLimit(attribute, property string) func(*submitFile, string, string) error {
	return func(s *submitFile, _, value string) error {
		if err := s.ad.SetExpr(attribute, value); err != nil {
			return err
		}
		return s.gpusMust(property + attribute)
	}
}

func (s *submitFile) gpusMemory(name, value string) error {
	if negotiator.IsAmount(value) {
		n, err := negotiator.ReadAmount("memory", value)
		if err != nil {
			return err
		}
		value = strconv.FormatInt(n, 10)
	}
	return gpusLimit("GPUsMinMemory", "GlobalMemoryMb >= ")(s, name, value)
}

// gpusRuntime reads a version such as 12.1, which slots tell as 12010.
func (s *submitFile) gpusRuntime(name, value string) error {
	if major, minor, ok := strings.Cut(value, "."); ok {
		a, wrong := strconv.Atoi(major)
		b, wrongToo := strconv.Atoi(minor)
		if err := errors.Join(wrong, wrongToo); err != nil {
			return errors.New("must be a version such as 12.1")
		}
		value = strconv.Itoa(1000*a + 10*b)
	}
	return gpusLimit("GPUsMinRuntime", "MaxSupportedVersion >= ")(s, name, value)
}

// unmatched are the universes whose jobs no negotiator matches, and their numbers.
var unmatched = map[int64]string{7: "scheduler", 9: "grid", 12: "local"}

func neverMatched(universe string) error {
	return fmt.Errorf("jobs of the %s universe never take slots of the pool: there is nothing to plan", universe)
}

// needs are what the universes that are matched need of slots.
var needs = map[string]string{
	"vanilla": "", "parallel": "", "docker": "TARGET.HasDocker", "container": "TARGET.HasContainer",
	"java": "TARGET.HasJava", "vm": "TARGET.HasVM", "5": "", "11": "", "10": "TARGET.HasJava", "13": "TARGET.HasVM",
}

func (s *submitFile) universe(_, value string) error {
	key := strings.ToLower(value)
	if n, err := strconv.ParseInt(key, 10, 64); err == nil && unmatched[n] != "" {
		key = unmatched[n]
	}
	clause, matched := needs[key]
	switch {
	case clause != "":
		return s.mustBe("(" + clause + ")")
	case matched:
		return nil
	case slices.Contains([]string{"scheduler", "grid", "local"}, key):
		return neverMatched(key)
	default:
		return errors.New("must be vanilla, parallel, docker, container, java or vm")
	}
}

func (s *submitFile) hold(_, value string) error {
	if slices.Contains([]string{"true", "t", "yes", "1"}, strings.ToLower(value)) {
		return errors.New("a job on hold starts when it is released: leave that out")
	}
	return nil
}
