package api

import (
	"net/http"
	"strconv"

	"holdfast/engine/outbound"
	"holdfast/ui/api/client"
)

func (a *API) outboundEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: "/system/outbound", summary: "List whom the appliance called or would have called, by host, with the mode and the allowed hosts (admin).",
			handler: answer(a, http.StatusOK, a.outbound), out: map[int]any{http.StatusOK: client.Outbound{}}},
		{method: http.MethodPut, path: "/system/outbound", summary: "Choose how far the appliance may call out: deny, ask or open (admin). What flag or file say cannot be loosened.",
			in: client.OutboundModeUpdate{}, handler: answer(a, http.StatusNoContent, a.setOutboundMode), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodPost, path: "/system/outbound/allowed", summary: "Allow a host and port; local says that it may be this machine or stand in its network (admin).",
			in: client.OutboundTarget{}, handler: answer(a, http.StatusNoContent, a.allowOutbound), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodDelete, path: "/system/outbound/allowed/{host}/{port}", summary: "Allow a host and port no more (admin).",
			handler: answer(a, http.StatusNoContent, a.forgetOutbound), out: map[int]any{http.StatusNoContent: nil}},
	}
}

func (a *API) outbound(q *request, _ none) (client.Outbound, error) {
	report, err := a.o.Outbound.Report(q.ctx(), q.who, outbound.ReportInput{})
	out := client.Outbound{Mode: report.Mode, Bound: report.Bound, Called: report.Called(), LookedUp: report.LookedUp(), Hosts: []client.OutboundHost{}, Allowed: []client.AllowedTarget{}}
	for _, h := range report.Hosts {
		shown := client.OutboundHost{Host: h.Host, Port: h.Port, Called: h.Called, Refused: h.Refused, Last: client.At(h.Last), Waits: h.Waits, Local: h.Local,
			Attempts: []client.OutboundAttempt{}}
		for _, e := range h.Entries {
			shown.Attempts = append(shown.Attempts, client.OutboundAttempt{At: client.At(e.At), Last: client.At(e.Last), Count: e.Attempts, Purpose: e.Purpose,
				Address: e.Address, Allowed: e.Allowed, Reason: e.Reason, By: e.By})
		}
		out.Hosts = append(out.Hosts, shown)
	}
	for _, t := range report.Allowed {
		out.Allowed = append(out.Allowed, client.AllowedTarget{Host: t.Host, Port: t.Port, Local: t.Local, By: t.By, At: client.At(t.At)})
	}
	return out, err
}

func (a *API) setOutboundMode(q *request, in client.OutboundModeUpdate) (none, error) {
	_, err := a.o.Outbound.SetMode(q.ctx(), q.who, outbound.SetModeInput{Mode: in.Mode})
	return none{}, err
}

func (a *API) allowOutbound(q *request, in client.OutboundTarget) (none, error) {
	_, err := a.o.Outbound.Allow(q.ctx(), q.who, outbound.AllowInput{Host: in.Host, Port: in.Port, Local: in.Local})
	return none{}, err
}

func (a *API) forgetOutbound(q *request, _ none) (none, error) {
	// What is no number is the port of no allowed host.
	port, _ := strconv.Atoi(q.http.PathValue("port"))
	_, err := a.o.Outbound.Forget(q.ctx(), q.who, outbound.ForgetInput{Host: q.http.PathValue("host"), Port: port})
	return none{}, err
}
