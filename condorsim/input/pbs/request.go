package pbs

import "strings"

// amounts are what a job asked for, or got, in all. Below 0 they are not given.
type amounts struct{ cpus, kib, gpus int64 }

// none is nothing said of anything.
func none() amounts { return amounts{-1, -1, -1} }

// add adds an amount to one that may not be given yet.
func add(sum *int64, amount int64) bool {
	*sum = max(*sum, 0) + amount
	return *sum <= maxNumber
}

// fieldError says which attribute of a record is wrong.
type fieldError struct{ field, text, problem, hint string }

const (
	correct  = "correct the record, or delete its line"
	sizeHint = "give a size such as 4gb, 2097152kb or 100mw"
	timeHint = "give a time such as 01:30:00, or seconds"
)

// requested returns what a job asked for by its Resource_List.
func requested(all map[string]string) (amounts, *fieldError) {
	asked := none()
	for _, list := range []struct {
		field string
		read  func(text string) (amounts, string)
	}{{"Resource_List.select", chunks}, {"Resource_List.nodes", nodes}, {"Resource_List.neednodes", nodes}} {
		if text := all[list.field]; text != "" && asked.cpus < 0 {
			found, problem := list.read(text)
			if problem != "" {
				return asked, &fieldError{list.field, text, problem, correct}
			}
			asked = found
		}
	}
	if fault := jobWide(all, &asked); fault != nil {
		return asked, fault
	}
	return asked, nil
}

// jobWide reads the resources of the whole job. Its cpus are the sum of its chunks where these are given, and
// its memory and GPUs count for more than their sums.
func jobWide(all map[string]string, asked *amounts) *fieldError {
	for _, one := range []struct {
		field string
		to    *int64
		only  bool // counts only if nothing else says it
	}{
		{"Resource_List.ncpus", &asked.cpus, true}, // beside nodes of Torque it is a default of 1
		{"Resource_List.procs", &asked.cpus, true},
		{"Resource_List.mpiprocs", &asked.cpus, true},
		{"Resource_List.nodect", &asked.cpus, true},
		{"Resource_List.ngpus", &asked.gpus, false},
		{"Resource_List.gpus", &asked.gpus, true},
	} {
		text := all[one.field]
		if text == "" || one.only && *one.to >= 0 {
			continue
		}
		n, fine := whole(text)
		if !fine {
			return &fieldError{one.field, text, "is no number from 0 to 1e12", correct}
		}
		*one.to = n
	}
	kib, fault := sizeOf(all, "Resource_List.mem")
	if fault != nil {
		return fault
	}
	each, fault := sizeOf(all, "Resource_List.pmem")
	if fault != nil {
		return fault
	}
	virtual, fault := sizeOf(all, "Resource_List.vmem")
	switch {
	case fault != nil:
		return fault
	case kib >= 0:
		asked.kib = kib
	case asked.kib >= 0:
	case each >= 0 && each <= maxNumber/max(asked.cpus, 1):
		asked.kib = each * max(asked.cpus, 1)
	case virtual >= 0:
		asked.kib = virtual
	}
	return nil
}

// sizeOf returns the size of an attribute in KiB; -1 if it is not given.
func sizeOf(all map[string]string, field string) (int64, *fieldError) {
	text := all[field]
	if text == "" {
		return -1, nil
	}
	kib, fine := size(text)
	if !fine {
		return 0, &fieldError{field, text, "is no size", sizeHint}
	}
	return kib, nil
}

// chunks reads a selection such as 2:ncpus=8:mem=4gb:ngpus=1+1:ncpus=1. A chunk that says nothing of cpus
// has one.
func chunks(text string) (sum amounts, problem string) {
	sum = none()
	for chunk := range strings.SplitSeq(text, "+") {
		parts := strings.Split(strings.TrimSpace(chunk), ":")
		count := int64(1)
		if n, fine := whole(parts[0]); fine {
			count, parts = n, parts[1:]
		}
		one := none()
		for _, part := range parts {
			if problem = one.resource(part); problem != "" {
				return sum, problem
			}
		}
		if one.cpus < 0 {
			one.cpus = 1
		}
		if problem = sum.more(one, count); problem != "" {
			return sum, problem
		}
	}
	return sum, ""
}

// resource reads a part of a chunk, such as mem=4gb. What is no amount is not read.
func (a *amounts) resource(part string) (problem string) {
	name, value, _ := strings.Cut(part, "=")
	value = strings.Trim(value, `"'`)
	fine := true
	switch name {
	case "ncpus":
		a.cpus, fine = whole(value)
	case "ngpus":
		a.gpus, fine = whole(value)
	case "mem":
		a.kib, fine = size(value)
	}
	if !fine {
		return "has the amount " + part + ", which is none"
	}
	return ""
}

// more adds a number of chunks that are alike.
func (a *amounts) more(one amounts, count int64) (problem string) {
	for _, pair := range []struct {
		sum  *int64
		each int64
	}{{&a.cpus, one.cpus}, {&a.kib, one.kib}, {&a.gpus, one.gpus}} {
		if pair.each < 0 {
			continue
		}
		if count > 0 && pair.each > maxNumber/count || !add(pair.sum, pair.each*count) {
			return "asks for more than 1e12"
		}
	}
	return ""
}

// nodes reads the nodes of Torque, such as 2:ppn=8:gpus=1+fast:ppn=4: numbers of nodes, or names or
// properties of one node each. One without ppn has one processor.
func nodes(text string) (sum amounts, problem string) {
	sum = none()
	text, _, _ = strings.Cut(text, "#") // #shared and such are for the whole job
	for group := range strings.SplitSeq(text, "+") {
		parts := strings.Split(strings.TrimSpace(group), ":")
		count := int64(1)
		if n, fine := whole(parts[0]); fine {
			count = n
		}
		one := amounts{1, -1, -1}
		for _, part := range parts {
			name, value, _ := strings.Cut(part, "=")
			fine := true
			switch name {
			case "ppn":
				one.cpus, fine = whole(value)
			case "gpus":
				one.gpus, fine = whole(value)
			}
			if !fine {
				return sum, "has the amount " + part + ", which is none"
			}
		}
		if problem = sum.more(one, count); problem != "" {
			return sum, problem
		}
	}
	return sum, ""
}
