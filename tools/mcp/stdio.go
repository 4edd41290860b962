package mcp

import (
	"io"
	"time"
)

// program is a started Process whose output is bounded by lines.
type program struct {
	*Process
	conn *Conn
	out  io.Reader
	left int64
	err  error
}

func newProgram(p *Process, c *Conn) *program {
	own := *p
	own.Stdin = newInput(p.Stdin)
	return &program{Process: &own, conn: c, out: p.Stdout, left: c.limits.Answer}
}

// Read gives the program's output, and ends when a line is too long or nobody asked for so many.
func (p *program) Read(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.out.Read(b)
	for _, c := range b[:n] {
		if p.left--; p.left < 0 {
			return 0, p.stop(errTooLarge)
		}
		if c != '\n' {
			continue
		}
		p.left = p.conn.limits.Answer
		if !p.conn.unasked() {
			return 0, p.stop(errFlood)
		}
	}
	return n, err
}

func (p *program) stop(why error) error {
	p.err = why
	p.conn.stream.update(func(o *outcome) { o.tooLarge, o.flood = why == errTooLarge, why == errFlood })
	return why
}

// close lets the program end by itself, then asks it, then ends it. It returns when the program is gone, or was killed and stays.
func (p *program) close(l Limits) {
	_ = p.Stdin.Close()
	defer p.Stdout.Close()
	if p.ended(l.Terminate) {
		return
	}
	p.Terminate()
	if p.ended(l.Kill) {
		return
	}
	p.Kill()
	p.ended(l.Kill)
}

func (p *program) ended(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.Done:
		return true
	case <-t.C:
		return false
	}
}

// noLog is the standard error that the library wants to close; the starter has the real one.
type noLog struct{}

// Read and Close make noLog an empty stream.
func (noLog) Read([]byte) (int, error) { return 0, io.EOF }
func (noLog) Close() error             { return nil }
