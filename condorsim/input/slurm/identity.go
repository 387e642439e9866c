package slurm

import (
	"errors"
	"strings"
)

var errID = errors.New("is no number of a job, such as 12, 12_3, 12_[4-9], 12+1 or 12.batch")

// maxTasks bounds the tasks of an array, as Slurm does (MaxArraySize).
const maxTasks = 4_000_001

// readID reads what JobID says: 12, a task 12_3, tasks that wait 12_[4-9%2], a component 12+1, and any of these
// with the name of a step behind a point.
func (r *record) readID(text string) error {
	if text == "" {
		return errID
	}
	name := text
	list := strings.LastIndexByte(text, ']') + 1 // what Slurm left out of a list is points
	if strings.IndexByte(text, '[') >= 0 && list == 0 {
		list = len(text)
	}
	if i := strings.IndexByte(text[list:], '.'); i >= 0 {
		name, r.step = text[:list+i], true
	}
	base, rest := name, ""
	if i := strings.IndexAny(name, "_+"); i >= 0 {
		base, rest = name[:i], name[i:]
	}
	var err error
	if r.id.job, err = jobNumber(base); err != nil {
		return err
	}
	switch {
	case rest == "":
		return nil
	case rest[0] == '+':
		r.id.part, err = jobNumber(rest[1:])
	case strings.HasPrefix(rest, "_["):
		r.id.tasks, err = readTasks(strings.TrimSuffix(rest[2:], "]"))
	default:
		r.id.task, err = jobNumber(rest[1:])
	}
	if err != nil {
		return errID
	}
	return nil
}

// readRaw reads what JobIDRaw says: a number, and perhaps the name of a step.
func (r *record) readRaw(text string) (err error) {
	name, _, step := strings.Cut(text, ".")
	r.step = r.step || step
	r.id.raw, err = jobNumber(name)
	return err
}

// jobNumber reads the number of a job, which has 32 bits.
func jobNumber(text string) (int64, error) {
	n, err := number(text)
	if err != nil || n > infinite {
		return 0, errID
	}
	return n, nil
}

// readTasks counts the tasks of a list such as 1,3,5-7%2 or 0-15:4. What Slurm left out of a long list, as …, is
// not counted.
func readTasks(list string) (int64, error) {
	list, _, _ = strings.Cut(list, "%")
	count := int64(0)
	for part := range strings.SplitSeq(list, ",") {
		if strings.HasPrefix(part, "...") {
			break
		}
		span, step, stepped := strings.Cut(strings.TrimSuffix(part, "..."), ":")
		first, last, ranged := strings.Cut(span, "-")
		from, err := jobNumber(first)
		until, every := from, int64(1)
		if err == nil && ranged {
			until, err = jobNumber(last)
		}
		if err == nil && stepped {
			every, err = jobNumber(step)
		}
		if err != nil || until < from || every == 0 {
			return 0, errID
		}
		if count += (until-from)/every + 1; count > maxTasks {
			return 0, errID
		}
	}
	return max(count, 1), nil
}
