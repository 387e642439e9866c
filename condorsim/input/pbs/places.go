package pbs

import "strings"

// vnodes reads what a job got of each vnode, such as (n1:ncpus=8:mem=4gb)+(n2[0]:ncpus=4+n2[1]:ncpus=4).
// It returns nothing if the text has another form, or says nothing of cpus: what was asked for counts then.
func vnodes(text string) amounts {
	sum := none()
	if text == "" {
		return sum
	}
	plain := strings.NewReplacer("(", "", ")", "").Replace(text)
	for vnode := range strings.SplitSeq(plain, "+") {
		parts := strings.Split(vnode, ":")
		one := none()
		for _, part := range parts[1:] {
			if one.resource(part) != "" {
				return none()
			}
		}
		if sum.more(one, 1) != "" {
			return none()
		}
	}
	if sum.cpus <= 0 {
		return none()
	}
	return sum
}

// hosts reads the places of a job: n1/0*8+n2/0*8, as PBS Professional writes it, with the cpus behind the
// star; n1/0+n1/1, as Torque does, each of which is one processor; or n1/0-7,9+n2/0. It returns 0 if the
// text has another form.
func hosts(text string) (cpus int64) {
	for host := range strings.SplitSeq(text, "+") {
		_, place, found := strings.Cut(host, "/")
		if !found {
			return 0
		}
		indices, count, counted := strings.Cut(place, "*")
		n, fine := indexed(indices)
		if counted {
			n, fine = whole(count)
		}
		if cpus += n; !fine || cpus > maxNumber {
			return 0
		}
	}
	return cpus
}

// indexed counts the indices of a list such as 0-7,9.
func indexed(list string) (count int64, ok bool) {
	for one := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(one, "-")
		begin, fine := whole(first)
		end := begin
		if isRange && fine {
			end, fine = whole(last)
		}
		if !fine || end < begin {
			return 0, false
		}
		count += end - begin + 1
	}
	return count, true
}

// given returns what a job got, of what is known of that.
func given(all map[string]string) amounts {
	got := vnodes(all["exec_vnode"])
	if got.cpus < 0 {
		if cpus := hosts(all["exec_host"]); cpus > 0 {
			got.cpus = cpus
		}
	}
	return got
}
