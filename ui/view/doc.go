// Package view turns view models into HTML: pure functions, no reads, no clock. Models hold only what is shown, already in
// words; components are named by what they show.
//
// # Documents
//
// ChatDocument, NewChatDocument, LoginDocument, OnboardingDocument, ModelsDocument, WorkspacesDocument, TokensDocument,
// ErrorDocument. Each is complete for reading without scripts.
//
// # Ids
//
// Content never makes an id. Ours: m-ID Ask, s-STEP Step or Draft, x-ID Mark; in a Step p-, r-, l-STEP-PART its parts and
// b-STEP-PART-N, rb-STEP-PART-N the blocks of text; k-STEP-N a Call's row, d- its details, kb- its body, a- its approval; q-ID
// queued, c-ID chat row, h-ID search hit, pr-ID process. Single ones: bar, log, older, rest, phase, queue, picks, actions, meter,
// window, changes, processes, chats, hits, server, composer, toasts.
//
// # The stream of a chat
//
// #log carries data-ignore, so nothing in it acts by itself; app.js has one listener for [data-act] and one for opened rows.
// A user Message while nothing runs: selector #log, mode append, content AskItem + StepItem(DraftStep(empty Draft)). The Draft
// grows by the patches of DraftCursor.Next. A commit is ONE event: selector #s-STEP, mode outer, content StepItem(final) followed by all
// that comes after it (AskItem of a taken message, StepItem of the next Draft). Beside it ChatChrome, without a selector: each
// element finds its target by its id. Older messages come as the answer to POST older: OlderEntries.
//
// # Routes that the pages use
//
//	GET  /                                    new chat, or the onboarding while there is no model
//	POST /chats                               form: text, model_config_id, workspace_id, key; 303
//	GET  /chats?q=                            SearchHits (q empty: the empty one), ChatsList
//	GET  /chats/{id}, /chats/{id}/stream      document, stream
//	GET  /chats/{id}/rows/{message}/{call}    RowBody, text/html
//	POST /chats/{id}/messages                 form: text, behavior=queue|interrupt, key; by fetch: 204, or 200 with FormError #composer-error
//	POST /chats/{id}/older                    form: before (element id of the first one in #log); 200 text/html OlderEntries
//	POST /chats/{id}/interrupt|retry|clear|compact|archive|unarchive|delete
//	POST /chats/{id}/title                    form: title
//	POST /chats/{id}/settings                 form: model_config_id, workspace_id
//	POST /chats/{id}/queue/{n}/promote|delete
//	POST /chats/{id}/queue/{n}/move           form: before
//	GET  /chats/{id}/queue/{n}/edit           QueueEditor
//	POST /chats/{id}/queue/{n}/edit           form: text; by fetch: 204, 200 with FormError #queue-edit-error, or 404 once taken; the page keeps the text
//	POST /chats/{id}/approvals/{call}         form: decision=allow_once|deny, key
//	POST /chats/{id}/checkpoints/{n}/restore  form: key
//	POST /chats/{id}/processes/{id}/stop
//	GET  /login, POST /login                  form: code; 303
//	POST /logout                              303
//	GET  /models; POST /models/pull           form: name
//	POST /models/pull/cancel                  form: name
//	POST /models/import                       multipart: name, file
//	POST /models/delete                       form: name
//	POST /models/configs                      form: model, name, num_ctx (all but model optional); 303 to / from the onboarding (form: next=/)
//	POST /models/configs/{id}                 form: name, num_ctx, keep_alive, think, tools
//	POST /models/configs/{id}/default|delete
//	POST /models/demo                         303 to /
//	POST /models/server                       form: url
//	GET  /workspaces; POST /workspaces        form: directory, name, trusted=1; from the new chat also next=/
//	POST /workspaces/{id}/trust               form: trusted=1 or nothing
//	POST /workspaces/{id}/delete
//	GET  /tokens; POST /tokens                form: name, read_only=1, days
//	POST /tokens/{id}/revoke
//
// What app.js posts by fetch is answered with 204, or with 200 text/html whose top-level elements replace those with the same id;
// an element with an unknown id becomes a toast. A Location header on a 200 leads there.
package view
