package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// bootID names this boot of the machine: a pid means nothing without it.
var bootID = sync.OnceValue(func() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
})

// startTime is when a process began, in clock ticks since boot; 0 when there is no such process.
func startTime(pid int) int64 { return statOf(pid).start }

// stat is what /proc says of a process; of one that is gone it is zero.
type stat struct {
	group int
	start int64
	// runs is false for a dead one that nobody has waited for.
	runs bool
}

func statOf(pid int) stat {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}
	}
	// The name in parentheses may hold anything, so fields count from its end: state, parent, group, and so on.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 {
		return stat{}
	}
	group, errGroup := strconv.Atoi(fields[2])
	start, errStart := strconv.ParseInt(fields[19], 10, 64)
	if errGroup != nil || errStart != nil {
		return stat{}
	}
	return stat{group: group, start: start, runs: fields[0] != "Z" && fields[0] != "X"}
}

// pids are those of all processes.
func pids() ([]int, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all, nil
}

// groupRuns says yes when it cannot know.
func groupRuns(group int) bool {
	all, err := pids()
	if err != nil {
		return true
	}
	for _, pid := range all {
		if s := statOf(pid); s.runs && s.group == group {
			return true
		}
	}
	return false
}

// carriers are the processes whose environment has one of the ids of this list, whatever group they are in.
func carriers(c carried) ([]int, error) {
	all, err := pids()
	if err != nil {
		return nil, err
	}
	var some []int
	for _, pid := range all {
		if pid != os.Getpid() && c.by(pid) {
			some = append(some, pid)
		}
	}
	return some, nil
}

// carriedIDs are those of the ids that some process has.
func carriedIDs(c carried) (map[string]bool, error) {
	left, err := carriers(c)
	some := map[string]bool{}
	for _, pid := range left {
		id, _ := carriedID(pid)
		some[id] = true
	}
	return some, err
}

// by: the process carries one of the ids, of the same list.
func (c carried) by(pid int) bool {
	id, list := carriedID(pid)
	return c.ids[id] && list == c.list
}

// carriedID gives the id and the list that a process carries, both "" for those of others, which we may not look into, and those that are gone.
func carriedID(pid int) (id, list string) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return "", ""
	}
	for v := range bytes.SplitSeq(data, []byte{0}) {
		if value, ok := bytes.CutPrefix(v, []byte(idVariable+"=")); ok {
			id = string(value)
		}
		if value, ok := bytes.CutPrefix(v, []byte(listVariable+"=")); ok {
			list = string(value)
		}
	}
	return id, list
}

// signalCarrier signals a process that still carries one of the ids once it is held by a handle that no later process can have.
func signalCarrier(pid int, c carried, s syscall.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer p.Release()
	if !c.by(pid) {
		return nil
	}
	if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	if s == syscall.SIGTERM {
		return signalCarrier(pid, c, syscall.SIGCONT)
	}
	return nil
}

// endOrphans ends what a crash left: groups whose leader is the listed process of this boot by pid and start time, and all that
// carry a listed id. It asks first and kills after five seconds.
func endOrphans(ctx context.Context, list string, left []entry, grace time.Duration) error {
	ids := map[string]bool{}
	var groups []entry
	for _, e := range left {
		if e.BootID == "" || e.BootID != bootID() {
			continue
		}
		ids[e.ID] = true
		if e.PID > 1 && e.StartTime != 0 {
			groups = append(groups, e)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return until(ctx, grace, func(kill bool) (bool, error) {
		for _, e := range groups {
			if s := statOf(e.PID); s.runs && s.start == e.StartTime {
				// Gone in between is what is wanted.
				_ = signalGroup(e.PID, kill)
			}
		}
		return endCarriers(carried{list, ids}, kill)
	})
}

// endCarriers signals all that carry an id and says whether there was none.
func endCarriers(c carried, kill bool) (none bool, err error) {
	left, err := carriers(c)
	if err != nil {
		return false, fmt.Errorf("look for processes: %w", err)
	}
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	var errs []error
	for _, pid := range left {
		errs = append(errs, signalCarrier(pid, c, signal))
	}
	return len(left) == 0, errors.Join(errs...)
}

// until repeats end, which asks on the first pass and kills once the grace is over, until it says that nothing is left.
func until(ctx context.Context, grace time.Duration, end func(kill bool) (bool, error)) error {
	done, err := end(false)
	if done || err != nil {
		return err
	}
	look := time.NewTicker(25 * time.Millisecond)
	defer look.Stop()
	late := time.Now().Add(grace)
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			_, err := end(true)
			return errors.Join(context.Cause(ctx), err)
		}
		if done, err := end(time.Now().After(late)); done || err != nil {
			return err
		}
	}
}

// endEscaped ends what left its group but still carries the id of one of our processes.
func (m *Manager) endEscaped(ctx context.Context) error { return m.endEscapedOf(ctx, m.ledger.ids()) }

// endEscapedOf is endEscaped for some of them.
func (m *Manager) endEscapedOf(ctx context.Context, ids map[string]bool) error {
	if len(ids) == 0 {
		return nil
	}
	return until(ctx, m.opts.grace, func(kill bool) (bool, error) { return endCarriers(carried{m.ledger.name, ids}, kill) })
}
