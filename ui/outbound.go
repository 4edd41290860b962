package ui

import (
	"net/http"
	"strconv"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/outbound"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// maxShownAttempts is how many kinds of attempts a host shows; the API has them all.
const maxShownAttempts = 8

func (s *Site) outboundRoutes() []gate.Route {
	return []gate.Route{
		{Pattern: "GET /system/outbound", Policy: gate.Admin, Handler: http.HandlerFunc(s.outboundPage)},
		{Pattern: "POST /system/outbound/mode", Policy: gate.Admin, Handler: http.HandlerFunc(s.setOutboundMode)},
		{Pattern: "POST /system/outbound/allow", Policy: gate.Admin, Handler: http.HandlerFunc(s.allowOutbound)},
		{Pattern: "POST /system/outbound/forget", Policy: gate.Admin, Handler: http.HandlerFunc(s.forgetOutbound)},
	}
}

// outboundPage shows whom this machine called.
func (s *Site) outboundPage(w http.ResponseWriter, r *http.Request) {
	page, err := s.outboundView(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page.Page, page.Note = s.page("Outbound"), s.serverNote(r.Context(), gate.Principal(r.Context()))
	s.document(w, r, http.StatusOK, view.OutboundDocument(page))
}

func (s *Site) outboundView(r *http.Request) (view.OutboundPage, error) {
	report, err := s.o.Outbound.Report(r.Context(), gate.Principal(r.Context()), outbound.ReportInput{})
	out := view.OutboundPage{Mode: string(report.Mode), Bound: string(report.Bound), Called: report.Called(), LookedUp: report.LookedUp()}
	for _, h := range report.Hosts {
		out.Hosts = append(out.Hosts, outboundHost(h))
	}
	for _, a := range report.Allowed {
		out.Allowed = append(out.Allowed, view.OutboundAllowed{Host: a.Host, Port: strconv.Itoa(a.Port), Local: a.Local, Since: clock(a.At).Format("2 Jan 15:04")})
	}
	return out, err
}

func outboundHost(h outbound.Host) view.OutboundHost {
	out := view.OutboundHost{Host: h.Host, Port: strconv.Itoa(h.Port), Called: h.Called, Refused: h.Refused, Last: clock(h.Last).Format("2 Jan 15:04:05"),
		Waits: h.Waits, Local: h.Local}
	for i, e := range h.Entries {
		if i == maxShownAttempts {
			out.More = len(h.Entries) - i
			break
		}
		a := view.OutboundAttempt{Purpose: e.Purpose, Address: e.Address, Reason: e.Reason, Allowed: e.Allowed, Count: e.Attempts}
		if a.Address == e.Host {
			a.Address = ""
		}
		out.Attempts = append(out.Attempts, a)
	}
	return out
}

func (s *Site) setOutboundMode(w http.ResponseWriter, r *http.Request) {
	_, err := s.o.Outbound.SetMode(r.Context(), gate.Principal(r.Context()), outbound.SetModeInput{Mode: chat.OutboundMode(r.PostFormValue("mode"))})
	s.outboundAnswer(w, r, "mode", err)
}

func (s *Site) allowOutbound(w http.ResponseWriter, r *http.Request) {
	host, port := r.PostFormValue("host"), strings.TrimSpace(r.PostFormValue("port"))
	// What is no number is refused as a port.
	n, _ := strconv.Atoi(port)
	_, err := s.o.Outbound.Allow(r.Context(), gate.Principal(r.Context()), outbound.AllowInput{Host: strings.TrimSpace(host), Port: n, Local: r.PostFormValue("local") == "1"})
	s.outboundAnswer(w, r, "allow", err)
}

func (s *Site) forgetOutbound(w http.ResponseWriter, r *http.Request) {
	host, port, _ := strings.Cut(r.PostFormValue("target"), " ")
	n, _ := strconv.Atoi(port)
	_, err := s.o.Outbound.Forget(r.Context(), gate.Principal(r.Context()), outbound.ForgetInput{Host: host, Port: n})
	s.outboundAnswer(w, r, "allow", err)
}

// outboundAnswer shows the list as it is now, with what was wrong.
func (s *Site) outboundAnswer(w http.ResponseWriter, r *http.Request, form string, problem error) {
	if problem != nil && !readableError(problem) {
		gate.WriteError(w, r, problem)
		return
	}
	page, err := s.outboundView(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	if problem != nil && form == "mode" {
		page.ModeError = fieldProblem(problem)
	} else if problem != nil {
		page.AllowError = fieldProblem(problem)
		page.Typed = view.OutboundAllowed{Host: r.PostFormValue("host"), Port: r.PostFormValue("port"), Local: r.PostFormValue("local") == "1"}
	}
	s.fragment(w, r, view.OutboundBody(page))
}
