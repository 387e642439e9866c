package backfill

import "slices"

// fewKeys is up to how many new keys are set one by one, and keysAtOnce up to which part of the
// queue: one of so many jobs.
const (
	fewKeys    = 32
	keysAtOnce = 4
)

// rekey gives jobs the round's new keys. Under fair share the keys of all jobs that wait change in
// each round. To move a million jobs to other places in the queue one after the other, and to keep
// their old records, would be most of what the round costs; so many are sorted at once. Where keys move
// along lines, a job with another line has the same place in each list.
func (c *Cycle) rekey(keys []JobKey) {
	if c.s.queue.moving && len(keys) > 0 || len(keys) > fewKeys && keysAtOnce*len(keys) > c.s.queue.Len() {
		old := c.s.rekey(keys)
		c.onUndo(func() { c.s.rekey(old) })
		return
	}
	for _, k := range keys {
		next, _ := c.s.jobs.Get(k.Job)
		next.key, next.line = k.Key, k.line
		c.set(k.Job, &next)
	}
}

// rekey gives jobs other keys, and returns those that they had, last first.
func (s *State) rekey(keys []JobKey) (old []JobKey) {
	s.queue.list()
	old = make([]JobKey, len(keys))
	for i, k := range keys {
		r := s.jobs.Put(k.Job)
		if old[len(keys)-1-i] = (JobKey{k.Job, r.key, r.line}); r.phase == held {
			s.held.Delete(queued{r.key, r.job})
			s.held.Set(queued{k.Key, r.job})
		}
		if r.key, r.line = k.Key, k.line; s.queue.moving && r.phase == waiting {
			s.queue.turn(r)
		}
	}
	s.queue.rekeyAll(func(j *Job) float64 { return s.jobs.Find(j.ID).key })
	s.queueChanges += 2
	if s.planning.Reorder {
		s.listBeyond()
	}
	return old
}

// rekeyAll sorts the queue by the keys that the callback returns.
func (q *queue) rekeyAll(key func(*Job) float64) {
	if q.moving {
		q.unsort()
		return
	}
	q.list()
	q.order.rekey(q.owner, key)
	for i := range q.shapes {
		for _, l := range q.shapes[i].listings() {
			l.fixed.rekey(q.owner, key)
		}
	}
}

// rekey gives all entries the keys that the callback returns, and sorts them anew. The nodes stay
// as full as they are.
func (t *jobTree) rekey(o *owner, key func(*Job) float64) {
	if t.root == nil {
		return
	}
	all := t.root.appendTo(make([]listed, 0, t.size))
	for i := range all {
		all[i].key = key(all[i].job)
	}
	slices.SortFunc(all, func(a, b listed) int { return a.compare(&b.queued) })
	t.root = t.root.own(o)
	t.root.fill(o, all)
}

// appendTo appends the entries of the leaves below a node to a list.
func (n *jobNode) appendTo(list []listed) []listed {
	if n.kids == nil {
		return append(list, n.entries...)
	}
	for _, kid := range n.kids {
		list = kid.appendTo(list)
	}
	return list
}

// fill replaces the entries of the leaves below a node by the first ones of a list, and returns the
// rest of it.
func (n *jobNode) fill(o *owner, list []listed) (rest []listed) {
	if n.kids == nil {
		return list[copy(n.entries, list):]
	}
	for i := range n.kids {
		kid := n.kids[i].own(o)
		list = kid.fill(o, list)
		n.kids[i], n.entries[i] = kid, kid.summary()
	}
	return list
}
