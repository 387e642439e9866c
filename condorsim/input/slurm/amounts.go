package slurm

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// maxNumber bounds amounts and times, so that sums of them cannot overflow.
const maxNumber = int64(1e12)

var (
	errNumber = errors.New("is no whole number up to 1e12")
	errAmount = errors.New("is no amount such as 4, 4000M or 1.5T")
	errMemory = errors.New("is no memory such as 4000M, 4Gn (of a node), 2Gc (of a cpu) or 1.5T")
)

// memory is memory asked for, as ReqMem writes it.
type memory struct {
	mib   int64
	each  byte // 'n': of each node, 'c': of each cpu; 0: in all
	known bool
}

// total returns the memory of a job in MiB; unknown: -1.
func (m memory) total(nodes, cpus int64) int64 {
	switch {
	case !m.known, m.each == 'n' && nodes <= 0, m.each == 'c' && cpus <= 0:
		return -1
	case m.each == 'n':
		return times(m.mib, nodes)
	case m.each == 'c':
		return times(m.mib, cpus)
	default:
		return m.mib
	}
}

// times multiplies two amounts; the product is at most the bound of amounts.
func times(a, b int64) int64 {
	if a > 0 && b > maxNumber/a {
		return maxNumber
	}
	return a * b
}

// readMemory reads what ReqMem says.
func readMemory(text string) (m memory, err error) {
	if unsaid(text) {
		return m, nil
	}
	if last := text[len(text)-1] | 0x20; last == 'n' || last == 'c' {
		m.each, text = last, text[:len(text)-1]
	}
	if m.mib, err = amountIn(text, mib); err != nil {
		return memory{}, errMemory
	}
	m.known = true
	return m, nil
}

// Powers of 1024.
const (
	one = 0
	kib = 1
	mib = 2
)

// powers are what letters behind a number stand for, as powers of 1024.
const powers = "bkmgtpe"

// amountIn reads a number with or without a letter behind it, as an amount in a power of 1024, rounded up. It is
// also the unit of numbers without a letter.
func amountIn(text string, unit int) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, errAmount
	}
	power := unit
	if last := text[len(text)-1]; last > '9' {
		if power = strings.IndexByte(powers, last|0x20); power < 0 {
			return 0, errAmount
		}
		text = text[:len(text)-1]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if !digits(whole) || fraction != "" && !digits(fraction) || len(whole) > 19 || len(fraction) > 19 {
		return 0, errAmount
	}
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil && fraction == "" && power == unit {
		return n, bounded(n)
	}
	var up, down big.Int
	up.SetString(whole+fraction, 10)
	up.Lsh(&up, uint(10*power))
	down.Exp(big.NewInt(10), big.NewInt(int64(len(fraction))), nil)
	down.Lsh(&down, uint(10*unit))
	up.Add(&up, &down)
	up.Sub(&up, big.NewInt(1))
	up.Div(&up, &down)
	if !up.IsInt64() {
		return 0, errAmount
	}
	return up.Int64(), bounded(up.Int64())
}

func bounded(n int64) error {
	if n > maxNumber {
		return errAmount
	}
	return nil
}

// digits reports whether a text is digits and nothing else.
func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// number reads a whole number.
func number(text string) (int64, error) {
	if !digits(text) {
		return 0, errNumber
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > maxNumber {
		return 0, errNumber
	}
	return n, nil
}

// unsaid reports whether a value says that nothing is known.
func unsaid(text string) bool {
	switch text {
	case "", "Unknown", "None", "N/A", "n/a", "(null)", "None assigned", "INVALID", "NONE", "unknown":
		return true
	}
	return false
}

// gpu is the name of GPUs among generic resources. gres is what stands before it among trackable resources.
const (
	gpu  = "gpu"
	gres = "gres/"
)

// readTRES reads trackable resources, such as billing=4,cpu=4,gres/gpu:a100=2,mem=16000M,node=1.
func (a *amounts) readTRES(text string) error {
	if unsaid(text) {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, count, found := strings.Cut(part, "=")
		if !found {
			return errors.New(strconv.Quote(head(part)) + " is no resource such as cpu=4 or mem=16G")
		}
		unit := one
		if name == "mem" {
			unit = mib
		} else if name != "cpu" && !isGPU(name) {
			continue
		}
		n, err := amountIn(count, unit)
		if err != nil {
			return errors.New(strconv.Quote(head(part)) + " has no amount such as 4 or 16G")
		}
		a.put(name, n)
	}
	return nil
}

// isGPU reports whether a trackable resource is GPUs, of any kind or of one.
func isGPU(name string) bool {
	rest, found := strings.CutPrefix(name, gres+gpu)
	return found && (rest == "" || rest[0] == ':')
}

// put notes an amount of a trackable resource.
func (a *amounts) put(name string, n int64) {
	switch {
	case name == "cpu":
		a.cpus = n
	case name == "mem":
		a.memory = n
	case name == gres+gpu:
		a.gpus = n
	case isGPU(name):
		a.kinds = min(a.kinds+n, maxNumber)
	}
}

// readGRES reads how many GPUs generic resources have, such as gpu:a100:2(S:0-1),nvme:1; none: -1.
func readGRES(text string) (int64, error) {
	sum := int64(-1)
	if unsaid(text) || text == "0" {
		return sum, nil
	}
	depth, begin := 0, 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] == '(':
			depth++
		case i < len(text) && text[i] == ')':
			depth--
		case i == len(text) || text[i] == ',' && depth <= 0:
			n, err := gpusOf(text[begin:i])
			if err != nil {
				return 0, err
			}
			if n >= 0 {
				sum = min(max(sum, 0)+n, maxNumber)
			}
			begin = i + 1
		}
	}
	return sum, nil
}

// gpusOf returns the GPUs of one generic resource; another: -1.
func gpusOf(resource string) (int64, error) {
	resource, _, _ = strings.Cut(resource, "(")
	parts := strings.Split(strings.TrimSpace(resource), ":")
	for len(parts) > 0 && (parts[0] == "gres" || strings.HasPrefix(parts[0], "PER_")) {
		parts = parts[1:]
	}
	if len(parts) == 0 || parts[0] != gpu && parts[0] != gres+gpu {
		return -1, nil
	}
	last := parts[len(parts)-1]
	if len(parts) == 1 || last == "" || last[0] < '0' || last[0] > '9' {
		return 1, nil // gpu, and gpu:a100, are one of them
	}
	n, err := amountIn(last, one)
	if err != nil {
		return 0, errors.New(strconv.Quote(head(resource)) + " has no number of GPUs, such as gpu:2 or gpu:a100:2")
	}
	return n, nil
}

// head cuts a text to a length that suits an error.
func head(text string) string {
	const room = 40
	if len(text) > room {
		return text[:room] + "…"
	}
	return text
}
