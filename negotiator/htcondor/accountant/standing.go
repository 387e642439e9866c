package accountant

// Standing is what a submitter and its group have and may have, as expressions about preemption see
// it. Weights are those of slots.
type Standing struct {
	// Prio is the effective priority, lower is better; InUse what it uses, and Floor what it is
	// entitled to.
	Prio, InUse, Floor float64
	// Group is its accounting group, GroupInUse and GroupQuota what that uses and may use.
	Group                  string
	GroupInUse, GroupQuota float64
	// Autoregroup says that its jobs may also use what other groups leave.
	Autoregroup bool
}

// Standing returns a submitter's numbers as of the last Update and Divide.
func (a *Accountant) Standing(submitter string) Standing {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Standing{Prio: a.effective(submitter)}
	r := a.accounts[submitter]
	if r != nil {
		s.InUse, s.Floor = r.Use.Weight, float64(r.Floor)
	}
	g, isGroup := a.groupOf(r, submitter)
	if g == nil || isGroup {
		g = a.tree.root
	}
	s.Group, s.GroupInUse, s.GroupQuota, s.Autoregroup = g.Name, g.used, g.quota, g.Autoregroup
	return s
}

// HasRoom tells whether a submitter may have a further weight beside what it uses and so much that
// it was granted since the last Update: within its part, by priority, of what its group may use,
// and within its ceiling. What is left of the part may be exceeded once, as under the stock
// negotiator: small parts would be left over else. Whoever neither used nor wanted anything at the
// last Divide has no part.
func (a *Accountant) HasRoom(submitter string, granted, weight float64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.accounts[submitter]
	if r == nil || r.isGroup {
		return false
	}
	has := r.Use.Weight + granted + weight
	if r.Ceiling >= 0 && has > float64(r.Ceiling)+slack {
		return false
	}
	most := max(r.limit, float64(r.Floor))
	return has <= most+slack || granted <= 0 && most > r.Use.Weight+slack
}

// Quota is how much of the pool the submitters of a group itself may use, in the weight of slots.
type Quota struct {
	Group  string
	Weight float64
}

// Quotas returns the quotas of all groups that the configuration names, parents before their subgroups, as of
// the last Divide.
func (a *Accountant) Quotas() (quotas []Quota) {
	if a == nil {
		return nil
	}
	for _, g := range a.standing().groups {
		if g.parent != nil {
			quotas = append(quotas, Quota{g.Name, g.quota})
		}
	}
	return quotas
}
