package outbound

import (
	"context"
	"slices"
	"strconv"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Key is the name of the record in the store; the value is a Setting.
const Key = "outbound"

// maxAllowed bounds the list of hosts.
const maxAllowed = 500

// Setting is what admins chose.
type Setting struct {
	// Mode is the one of the page, "" where none was chosen.
	Mode    chat.OutboundMode `json:"mode,omitempty"`
	Allowed []Allowed         `json:"allowed,omitempty"`
}

// Allowed is a host that an admin has allowed.
type Allowed struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	// Local says that it may be this machine or stand in its network.
	Local bool        `json:"local,omitempty"`
	By    chat.UserID `json:"by"`
	At    time.Time   `json:"at"`
}

// modes stand from the strictest to the loosest.
var modes = []chat.OutboundMode{chat.OutboundDeny, chat.OutboundAsk, chat.OutboundOpen}

// ParseMode reads a mode as flags and files write it.
func ParseMode(text string) (chat.OutboundMode, bool) {
	m := chat.OutboundMode(text)
	return m, slices.Contains(modes, m)
}

// Bound is the loosest mode that pages may choose, as flag or file say; "" leaves it to them.
//
//guard:none main gives it at the start and when the file is read again
func (r *Room) Bound(m chat.OutboundMode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bound = m
	r.judgeLocked()
}

// judgeLocked makes the rules that requests are judged by.
func (r *Room) judgeLocked() {
	j := rules{mode: chat.OutboundAsk, sealed: r.bound == chat.OutboundDeny, allowed: map[target]bool{}}
	if r.setting.Mode != "" {
		j.mode = r.setting.Mode
	}
	if r.bound != "" && (r.setting.Mode == "" || slices.Index(modes, r.bound) < slices.Index(modes, j.mode)) {
		j.mode = r.bound
	}
	for _, a := range r.setting.Allowed {
		j.allowed[target{a.Host, a.Port}] = a.Local
	}
	r.rules.Store(&j)
}

// Mode gives the mode that holds.
//
//guard:none tools that need a way out are not there without one
func (r *Room) Mode() chat.OutboundMode { return r.rules.Load().mode }

// SetModeInput chooses a mode.
type SetModeInput struct{ Mode chat.OutboundMode }

// Done is the empty answer of a command that leaves nothing to say.
type Done struct{}

// SetMode chooses how far the appliance may call out. What flag or file say can be made stricter, not looser.
func (r *Room) SetMode(ctx context.Context, _ chat.Principal, in SetModeInput) (Done, error) {
	at := slices.Index(modes, in.Mode)
	if at < 0 {
		return Done{}, chat.Invalid("mode", "must be deny, ask or open")
	}
	r.mu.Lock()
	bound := r.bound
	r.mu.Unlock()
	if bound != "" && at > slices.Index(modes, bound) {
		return Done{}, &chat.Error{Kind: chat.KindForbidden, Message: "The mode was set to " + string(bound) + " when the appliance was started.",
			Detail: "A page can make it stricter, not looser. Change the flag, the variable or the configuration file."}
	}
	return Done{}, r.change(ctx, func(s *Setting) error {
		s.Mode = in.Mode
		return nil
	})
}

// AllowInput allows a host and port. Local says that it may be this machine or stand in its network.
type AllowInput struct {
	Host  string
	Port  int
	Local bool
}

// Allow lets the appliance call a host.
func (r *Room) Allow(ctx context.Context, p chat.Principal, in AllowInput) (Done, error) {
	at, err := readTarget(in.Host, in.Port)
	if err != nil {
		return Done{}, err
	}
	if where, literal := literalPlace(at.host); literal && where == never {
		return Done{}, chat.Invalid("host", "nothing can be reached at this address")
	} else if literal && (where == local) != in.Local {
		in.Local = where == local
	}
	if isLocalName(at.host) {
		in.Local = true
	}
	if r.own(at) {
		return Done{}, chat.Invalid("port", "this is the appliance itself")
	}
	return Done{}, r.change(ctx, func(s *Setting) error {
		s.Allowed = slices.DeleteFunc(s.Allowed, func(a Allowed) bool { return a.Host == at.host && a.Port == at.port })
		if len(s.Allowed) >= maxAllowed {
			return chat.Invalid("host", "at most "+strconv.Itoa(maxAllowed)+" hosts")
		}
		s.Allowed = append(s.Allowed, Allowed{Host: at.host, Port: at.port, Local: in.Local, By: p.UserID, At: r.now().UTC()})
		return nil
	})
}

// ForgetInput names a host that was allowed.
type ForgetInput struct {
	Host string
	Port int
}

// Forget takes back what Allow gave.
func (r *Room) Forget(ctx context.Context, _ chat.Principal, in ForgetInput) (Done, error) {
	at, err := readTarget(in.Host, in.Port)
	if err != nil {
		return Done{}, err
	}
	return Done{}, r.change(ctx, func(s *Setting) error {
		before := len(s.Allowed)
		if s.Allowed = slices.DeleteFunc(s.Allowed, func(a Allowed) bool { return a.Host == at.host && a.Port == at.port }); len(s.Allowed) == before {
			return chat.NotFound("allowed host")
		}
		return nil
	})
}

// change stores a new Setting and judges by it.
func (r *Room) change(ctx context.Context, change func(*Setting) error) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	var next Setting
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		next = Setting{}
		if _, err := tx.Site(Key, &next); err != nil {
			return err
		}
		if err := change(&next); err != nil {
			return err
		}
		return tx.PutSite(Key, next)
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setting = next
	r.judgeLocked()
	return nil
}
