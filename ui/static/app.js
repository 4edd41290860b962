// The page's own script: keys, scrolling, counters, what is pressed inside the transcript. Everything else is Datastar's.
(() => {
'use strict'
const root = document.documentElement
const $ = id => document.getElementById(id)
const store = {
  get(k) { try { return localStorage.getItem(k) } catch { return null } },
  set(k, v) { try { v ? localStorage.setItem(k, v) : localStorage.removeItem(k) } catch { /* private mode keeps nothing */ } },
}
const saved = store.get('theme')
if (saved) root.dataset.theme = saved

// Intents outside of Datastar. A repeated key is answered without doing it twice, so a lost connection is simply tried again. quiet leaves it to the caller to
// say that what was meant is gone.
const newKey = () => crypto.getRandomValues(new Uint32Array(4)).reduce((s, n) => s + n.toString(36).padStart(7, '0'), '')
async function post(url, fields, quiet) {
  const body = new URLSearchParams(fields)
  if (!body.has('key')) body.set('key', newKey())
  for (let wait = 300; ; wait *= 2) {
    try {
      const res = await fetch(url, { method: 'POST', body, headers: { Accept: 'text/html' } })
      if (res.status === 503 && wait < 3000) throw new Error('busy')
      return await answer(res, quiet)
    } catch (err) {
      if (wait > 2400) { toast('Not sent: Holdfast does not answer.'); return { ok: false } }
      await new Promise(done => setTimeout(done, wait))
    }
  }
}
async function answer(res, quiet) {
  if (res.status === 204) return { ok: true }
  const type = res.headers.get('Content-Type') || ''
  const html = type.startsWith('text/html') ? await res.text() : ''
  if (res.status === 200) {
    const to = res.headers.get('Location')
    if (to) location.assign(to)
    return { ok: !html || res.headers.has('Holdfast-Done'), html, data: type.startsWith('application/json') ? await res.json() : null }
  }
  if (res.status === 404 && quiet) return { ok: false, gone: true }
  toast(res.status === 404 ? 'That is no longer there.' : 'Refused by Holdfast (' + res.status + ').')
  return { ok: false }
}
function apply(html) {
  for (const el of parse(html).children) {
    const old = el.id && $(el.id)
    if (old) old.replaceWith(el)
    else $('toasts').append(el)
    if ('open' in el.dataset) el.showModal()
  }
}
function parse(html) {
  const t = document.createElement('template')
  t.innerHTML = html
  return { children: [...t.content.children], content: t.content }
}
function toast(text) {
  const el = document.createElement('div')
  el.className = 'toast'
  el.dataset.toast = ''
  el.textContent = text
  $('toasts').append(el)
  return el
}

// Scrolling: the page follows the text only while the reader is at its end.
let box, atEnd = true, frame = 0, last = 0, acted = 0
const near = () => box.scrollHeight - box.scrollTop - box.clientHeight < 48
function end(on) {
  atEnd = on
  box.classList.toggle('is-following', on)
}
function down() {
  box.scrollTop = box.scrollHeight
  last = box.scrollTop
}
function follow() {
  frame = 0
  if (atEnd) down()
  else $('below').classList.remove('is-off')
}
function toEnd() {
  end(true)
  $('below').classList.add('is-off')
  down()
}
// Text that came since the last frame makes the end farther away without anybody scrolling: only a way upwards ends the following. Where a
// change made the page shorter for a moment the browser moved up by itself: while a follow is due, only the reader's own hand counts.
function scrolled() {
  const top = box.scrollTop, reader = !frame || performance.now() - acted < 1000
  if (near() || opening) {
    end(true)
    $('below').classList.add('is-off')
  } else if (top < last - 1 && reader) end(false)
  last = top
  if (top < 2 * box.clientHeight) older()
}
let loading
// older asks for what stands before the first message; it resolves to whether something came.
function older() { return loading ??= before().finally(() => { loading = undefined }) }
async function before() {
  const button = $('older')?.querySelector('[data-act=older]')
  const first = $('log')?.firstElementChild
  if (!button || !first) return false
  const { html } = await post(button.dataset.url, { before: first.id })
  if (!html) return false
  const parts = parse(html)
  const from = box.scrollHeight - box.scrollTop
  for (const el of parts.children) if (el.id === 'older') { $('older').replaceWith(el) }
  $('log').prepend(...parts.children.filter(el => el.id !== 'older' && !$(el.id)))
  // Anchoring keeps the place when the reader is down the page, not at its very top.
  if (Math.abs(box.scrollHeight - box.scrollTop - from) > 2) box.scrollTop = box.scrollHeight - from
  return $('log').firstElementChild !== first
}
// An address may name a message that is older than what the page holds: what lies between is fetched, and the page stands at it.
async function reach() {
  const id = location.hash.slice(1), [, kind, n] = id.match(/^([gmsx]-)(\d+)$/) || []
  if (!kind || $(id)) return
  const beyond = () => +(box.querySelector('#log > [id^="' + kind + '"]')?.id.slice(2) ?? Infinity) > +n
  if (!beyond()) return
  opening = false
  while (!$(id) && beyond() && await older());
  if (!$(id) || location.hash.slice(1) !== id) return
  end(false)
  $(id).scrollIntoView()
}
// A page opens at its end, however the heights of what was skipped change in its first frames, unless the reader moves before.
let opening = false
function settle(height, same, frames) {
  if (!opening) return
  down()
  same = height === box.scrollHeight ? same + 1 : 0
  if (same < 5 && frames < 120) return requestAnimationFrame(() => settle(box.scrollHeight, same, frames + 1))
  opening = false
  scrolled()
}
function watchTranscript() {
  box = $('transcript')
  if (!box) return
  const wanted = $(location.hash.slice(1))
  opening = !wanted
  if (opening) down()
  end(near())
  settle(box.scrollHeight, 0, 0)
  reach()
  addEventListener('hashchange', reach)
  for (const by of ['wheel', 'touchstart', 'touchmove', 'pointerdown', 'keydown']) addEventListener(by, () => { opening = false; acted = performance.now() }, { passive: true, capture: true })
  last = box.scrollTop
  box.addEventListener('scroll', scrolled, { passive: true })
  // What a reader opens is not news, nor is what came before the first message.
  const opened = ({ target }) => (target.closest ? target : target.parentElement)?.closest('.row-tool > .body')
  const earlier = m => m.addedNodes[0]?.id === 'older' || m.target.id === 'log' && m.addedNodes.length && !m.previousSibling && m.nextSibling
  const touched = list => {
    if (list.every(m => opened(m) || earlier(m))) return
    lostEdit()
    if (frame) return
    frame = requestAnimationFrame(follow)
    const draft = $('log').lastElementChild
    if (draft) tick(draft)
  }
  new MutationObserver(touched).observe($('log'), { childList: true, subtree: true, characterData: true })
  new MutationObserver(touched).observe(box.firstElementChild, { childList: true })
  // What is skipped while it is off screen gets its true height late.
  const sizes = new ResizeObserver(() => { if (atEnd) down() })
  sizes.observe(box)
  sizes.observe(box.firstElementChild)
  const dock = document.querySelector('.dock')
  if (dock) new MutationObserver(() => { tick(dock); hint() }).observe(dock, { childList: true, subtree: true })
}

// Forms with a save bar: it comes with the first change and counts them; leaving the page asks.
const changedIn = form => [...form.elements].filter(e => e.name && (e.type === 'checkbox' || e.type === 'radio' ? e.checked && !e.defaultChecked || e.type === 'checkbox' && !e.checked && e.defaultChecked
  : e.options ? [...e.options].some(o => o.selected && !o.defaultSelected) && !(e.selectedIndex === 0 && ![...e.options].some(o => o.defaultSelected)) : e.value !== e.defaultValue)).length
function saveBar(form) {
  const bar = form.querySelector('.savebar')
  if (!bar) return
  const n = changedIn(form), bad = form.querySelectorAll('.is-bad').length
  bar.hidden = !n && !bad && !form.hasAttribute('data-dirty')
  bar.querySelector('[data-count]').textContent = (n === 1 ? '1 change' : n ? n + ' changes' : 'Changes') + ' not saved' + (bad ? ', ' + bad + ' must be corrected' : '')
}
for (const on of ['input', 'change']) document.addEventListener(on, e => {
  const form = e.target.form
  if (!form?.querySelector('.savebar')) return
  e.target.closest('.field')?.classList.remove('is-bad')
  saveBar(form)
})
document.addEventListener('reset', e => setTimeout(() => {
  for (const f of e.target.querySelectorAll('.is-bad')) f.classList.remove('is-bad')
  saveBar(e.target)
}))
// A switch that gives much away is asked about before it is on.
document.addEventListener('change', async e => {
  const form = e.target.closest('form[data-sure]')
  if (!form || !e.target.checked || form.sure) return
  e.stopImmediatePropagation()
  e.target.checked = false
  if (!await ask(form.dataset.sure, form.dataset.words, form.dataset.yes)) return
  e.target.checked = form.sure = true
  e.target.dispatchEvent(new Event('change', { bubbles: true }))
  form.sure = false
}, true)
addEventListener('beforeunload', e => { if (document.querySelector('form .savebar:not([hidden])')) e.preventDefault() })

// Counters: data-since counts up, data-until down; Unix milliseconds of this machine's clock.
const two = n => String(n).padStart(2, '0')
function span(ms) {
  const s = Math.max(0, Math.floor(ms / 1000))
  if (s < 60) return s + ' s'
  if (s < 600) return Math.floor(s / 60) + ' m ' + two(s % 60) + ' s'
  if (s < 3600) return Math.floor(s / 60) + ' min'
  return Math.floor(s / 3600) + ' h ' + two(Math.floor(s / 60) % 60) + ' m'
}
function tick(scope = document) {
  const now = Date.now()
  for (const el of scope.querySelectorAll('[data-since],[data-until]')) {
    const text = el.dataset.since ? span(now - el.dataset.since) : span(el.dataset.until - now)
    if (el.textContent !== text) el.textContent = text
  }
  for (const el of scope.querySelectorAll('[data-toast]')) {
    el.age = (el.age || 0) + 1
    if (el.age > 8 && !el.matches(':hover, :focus-within')) el.remove()
  }
}

function hint() {
  const area = $('composer-text'), actions = $('actions')
  if (!area || !actions) return
  if (area.disabled) return
  if ('closed' in actions.dataset) {
    area.disabled = true
    area.placeholder = 'A part of this chat cannot be read, so nothing can be added to it'
    for (const b of $('composer').querySelectorAll('[data-act=attach], [data-act=name-file]')) b.remove()
    return
  }
  area.placeholder = area.dataset.hint || ('running' in actions.dataset ? 'Add to the queue, or Ctrl Enter to interrupt' : 'queues' in actions.dataset ? 'Add to the queue' : 'Describe the next change')
}

// Dialogs that ask. They resolve to what was pressed, '' for nothing.
function ask(title, text, yes) {
  const dialog = $('confirm')
  $('confirm-title').textContent = title
  $('confirm-text').textContent = text
  $('confirm-yes').textContent = yes
  dialog.returnValue = ''
  dialog.showModal()
  return new Promise(done => dialog.addEventListener('close', () => done(dialog.returnValue), { once: true }))
}

// The composer: what is written is kept per chat until it is sent.
function composer() {
  const form = $('composer'), area = $('composer-text')
  if (!area) return
  const slot = 'draft ' + (form.dataset.chat || 'new')
  if (!area.value) area.value = store.get(slot) || ''
  area.addEventListener('input', () => { store.set(slot, area.value); $('composer-error').replaceChildren() })
  area.addEventListener('keydown', e => {
    if (e.key === 'ArrowUp' && !area.value && !e.shiftKey && !e.altKey && !e.ctrlKey && !e.metaKey) {
      const last = [...document.querySelectorAll('#log [data-act=edit]')].pop()
      if (last) { e.preventDefault(); edit(last) }
    }
    if (e.key !== 'Enter' || e.isComposing || e.shiftKey || e.altKey) return
    e.preventDefault()
    if (form.elements.behavior) form.elements.behavior.value = e.ctrlKey || e.metaKey ? 'interrupt' : 'queue'
    if (area.value.trim() || named(form).length) form.requestSubmit()
  })
  if (!form.dataset.chat) { form.addEventListener('submit', () => store.set(slot, '')); return }
  let sending = false
  form.addEventListener('submit', async e => {
    e.preventDefault()
    const sent = area.value, files = named(form)
    if (sending || e.isWaiting || !sent.trim() && !files.length) return
    sending = true
    const fields = [['text', sent], ['behavior', form.elements.behavior.value], ['key', form.elements.key.value], ...files]
    const { ok, html } = await post(form.action, fields)
    sending = false
    form.elements.behavior.value = 'queue'
    if (html) apply(html)
    if (!ok) return
    form.elements.key.value = newKey()
    if (area.value === sent) area.value = ''
    delete area.dataset.hint
    store.set(slot, area.value)
    dispatchEvent(new CustomEvent('sent', { detail: files }))
    toEnd()
  })
}
// The ids of the files that go with the message.
const named = form => [...new FormData(form)].filter(([field]) => field === 'file' || field === 'ref')
function compose(text) {
  const area = $('composer-text')
  area.value = area.value.trim() ? area.value + '\n\n' + text : text
  area.dispatchEvent(new Event('input'))
  area.focus()
}


// A user message that is written anew: the form stands behind it until it is sent, cancelled, or the message goes away.
let editing = null
async function edit(b) {
  const ask = b.closest('.turn')
  if (ask.nextElementSibling?.matches('.is-edit')) return
  const res = await fetch(b.dataset.url, { headers: { Accept: 'text/html' } }).catch(() => null)
  if (!res?.ok) return toast(res?.status === 404 ? 'That is no longer there.' : 'The message could not be read; try again.')
  unedit()
  editing = parse(await res.text()).children[0]
  ask.after(editing)
  const area = editing.elements.text
  area.addEventListener('keydown', e => {
    if (e.key === 'Escape') { e.preventDefault(); return unedit(true) }
    if (e.key !== 'Enter' || e.isComposing || e.shiftKey || e.altKey) return
    e.preventDefault()
    if (area.value.trim()) editing.requestSubmit()
  })
  editing.addEventListener('submit', sendEdit)
  area.focus()
  area.setSelectionRange(area.value.length, area.value.length)
}
function unedit(back) {
  const form = editing
  editing = null
  const ask = form?.previousElementSibling
  form?.remove()
  if (back) ask?.querySelector('[data-act=edit]')?.focus()
}
async function sendEdit(e) {
  e.preventDefault()
  const form = e.target, send = form.querySelector('[type=submit]')
  if (send.disabled || !form.elements.text.value.trim()) return
  send.disabled = true
  const { ok, html, data } = await post(form.action, { text: form.elements.text.value, key: form.elements.key.value })
  send.disabled = false
  if (html) apply(html)
  if (!ok) return
  if (editing === form) unedit()
  if (data?.files) attach(data.files)
  if (data?.named) nameFiles(data.named)
  if (data?.compose?.length) compose(data.compose.join('\n\n'))
  else $('composer-text')?.focus()
  toEnd()
}
// The message was written anew elsewhere: what was typed here is not lost.
function lostEdit() {
  if (!editing || editing.isConnected || editing.querySelector('[type=submit]').disabled) return
  const text = editing.elements.text.value
  editing = null
  compose(text)
  toast('This message was changed elsewhere. Your text is in the composer.')
}
const nameFiles = paths => dispatchEvent(new CustomEvent('name-files', { detail: paths }))
const attach = ids => dispatchEvent(new CustomEvent('attach', { detail: ids }))
async function copy(button, text) {
  try { await navigator.clipboard.writeText(text) } catch {
    const area = document.createElement('textarea')
    area.value = text
    document.body.append(area)
    area.select()
    document.execCommand('copy')
    area.remove()
  }
  const use = button.querySelector('use')
  const was = use.getAttribute('href')
  use.setAttribute('href', '#i-check')
  setTimeout(() => use.setAttribute('href', was), 1500)
}
const plain = el => [...el.querySelectorAll('.prose:not(.is-quiet)')].map(p => p.innerText.trim()).join('\n\n')

const acts = {
  theme() {
    const dark = (root.dataset.theme || (matchMedia('(prefers-color-scheme:dark)').matches ? 'dark' : 'light')) === 'dark'
    root.dataset.theme = dark ? 'light' : 'dark'
    store.set('theme', root.dataset.theme)
  },
  bottom: toEnd,
  older,
  dismiss(b) { b.closest('.toast').remove() },
  'close-dialog'(b) { b.closest('dialog').close() },
  dialog(b) { $(b.dataset.dialog).showModal() },
  title() { $('chat-menu').hidePopover(); $('title-dialog').showModal(); $('title-text').select() },
  async propose(b) {
    const was = b.textContent
    b.disabled = true
    b.textContent = 'Asking the model'
    $('title-error').replaceChildren()
    const { html, data } = await post(b.dataset.url, '')
    if (html) apply(html)
    if (data) { $('title-text').value = data.title; $('title-text').select() }
    b.textContent = was
    b.disabled = false
  },
  copy(b) { copy(b, b.closest('.code').querySelector('pre').textContent) },
  'copy-turn'(b) {
    const parts = []
    for (let el = b.closest('.turn'); el?.classList.contains('is-step'); el = el.previousElementSibling) parts.unshift(plain(el))
    copy(b, parts.filter(Boolean).join('\n\n'))
  },
  async post(b) {
    b.disabled = true
    b.closest('dialog')?.close()
    const { ok, html } = await post(b.dataset.url, b.dataset.form || '')
    if (html) apply(html)
    if (!ok) b.disabled = false
  },
  async 'confirm-post'(b) {
    if (await ask(b.dataset.title, b.dataset.words, b.dataset.yes)) acts.post(b)
  },
  async restore(b) {
    const files = b.dataset.ask
    if (await ask('Restore ' + files + ' to ' + b.dataset.when + '?', 'They go back to how they were before that message. The chat stays. Files that somebody else changed since are left alone, and so is what commands did.', 'Restore ' + files)) {
      await acts.post(b)
      b.disabled = false
    }
  },
  start(b) { compose(b.dataset.says) },
  say(b) {
    const area = $('composer-text')
    area.dataset.hint = b.dataset.hint
    hint()
    area.focus()
  },
  edit,
  'edit-cancel'() { unedit(true) },
  unsearch() { seek('') },
  seek(b) { seek(b.dataset.q) },
  tab(b) {
    for (const tab of b.parentElement.children) {
      const on = tab === b
      tab.setAttribute('aria-selected', on)
      tab.tabIndex = on ? 0 : -1
      $(tab.getAttribute('aria-controls')).hidden = !on
    }
    b.focus()
  },
}

// A card is answered where it stands; the stream then takes it away.
async function answerCard(e) {
  e.preventDefault()
  const form = e.target
  // Enter in the field for one's own words means these, not the first option.
  const own = document.activeElement?.name?.startsWith('other') && form.elements.own
  const fields = new URLSearchParams(new FormData(form, own || e.submitter))
  const held = [...form.querySelectorAll('button')]
  for (const b of held) b.disabled = true
  const { ok, html } = await post(form.getAttribute('action'), fields)
  if (html) apply(html)
  if (!ok) for (const b of held) b.disabled = false
}

// A row's body comes when it is opened for the first time.
async function opened(e) {
  const row = e.target
  if (!row.open || !row.dataset?.fetch || row.dataset.have === row.dataset.fetch) return
  row.dataset.have = row.dataset.fetch
  const body = row.querySelector('.body')
  try {
    const res = await fetch(row.dataset.fetch, { headers: { Accept: 'text/html' } })
    if (!res.ok) throw new Error(res.status)
    body.innerHTML = await res.text()
  } catch {
    row.dataset.have = ''
    body.textContent = 'Could not be loaded; close and open it to try again.'
  }
}

let escAt = 0, once
function interrupt() {
  const stop = $('stop')
  if (!stop) return
  if (Date.now() - escAt < 4000) { escAt = 0; once.remove(); stop.click(); return }
  escAt = Date.now()
  once = toast('Press Esc once more to interrupt the model.')
}
const field = () => document.querySelector('.sidebar input[type=search]')
function seek(text) {
  const input = field()
  const drawer = input.closest('[popover]:not(:popover-open)')
  if (drawer && getComputedStyle(drawer).display === 'none') drawer.showPopover()
  input.value = text
  input.dispatchEvent(new Event('input', { bubbles: true }))
  input.focus()
}
// From the search field down into what was found and back up.
function hits(e) {
  const rows = [...document.querySelectorAll('#hits .row-chat')], at = rows.indexOf(e.target)
  if (e.target !== field() && at < 0) return
  const to = { ArrowDown: rows[at + 1], ArrowUp: at > 0 ? rows[at - 1] : field() }[e.key]
  if (to) { e.preventDefault(); to.focus() }
  if (e.key === 'Enter' && at < 0 && rows[0]) { e.preventDefault(); rows[0].click() }
  if (e.key === 'Escape' && field().value) { e.preventDefault(); seek('') }
}
function chat(step) {
  const rows = [...document.querySelectorAll('#chats .row-chat')]
  const here = rows.findIndex(r => r.classList.contains('is-here'))
  rows[Math.min(rows.length - 1, Math.max(0, here + step))]?.click()
}
function keys(e) {
  hits(e)
  if (e.key === 'Escape' && !e.defaultPrevented && !document.querySelector('dialog[open], :popover-open')) return interrupt()
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input, textarea, select, [contenteditable], dialog')) {
    if ((e.ctrlKey || e.metaKey) && e.key === 'k') {
      const input = field()
      if (input) { e.preventDefault(); input.focus() }
    }
    return
  }
  const tabs = e.target.closest('[role=tablist]')
  if (tabs && (e.key === 'ArrowRight' || e.key === 'ArrowLeft')) {
    const all = [...tabs.children]
    const next = (all.indexOf(e.target) + (e.key === 'ArrowRight' ? 1 : all.length - 1)) % all.length
    return acts.tab(all[next])
  }
  const does = { '/': () => $('composer-text')?.focus(), n: () => document.querySelector('[data-key=n]')?.click(), j: () => chat(1), k: () => chat(-1), '?': () => $('shortcuts').showModal() }[e.key]
  if (does) { e.preventDefault(); does() }
}

document.addEventListener('DOMContentLoaded', () => {
  for (const el of document.querySelectorAll('dialog[data-open]')) el.showModal()
  watchTranscript()
  composer()
  document.addEventListener('click', e => {
    const el = e.target.closest('[data-act]')
    if (el && acts[el.dataset.act]) acts[el.dataset.act](el)
    e.target.closest('.menu[popover] .nav-link')?.closest('.menu').hidePopover()
  })
  document.addEventListener('toggle', opened, true)
  document.addEventListener('keydown', keys)
  document.addEventListener('submit', e => {
    if ('answer' in e.target.dataset) return answerCard(e)
    const file = e.target.querySelector('input[type=file]')
    if (file && e.target.id === 'import-chat') importChat(e, file)
    else if (file) upload(e, file)
  })
  tick()
  setInterval(() => { tick(); hint() }, 1000)
})

// An exported chat goes to the API as it is, which names what it does not take.
async function importChat(e, file) {
  e.preventDefault()
  const send = e.target.querySelector('button')
  if (send.disabled) return
  send.disabled = true
  $('import-error').replaceChildren()
  const res = await fetch('/api/v1/chats/import', { method: 'POST', body: file.files[0], headers: { 'Content-Type': 'application/json', 'Idempotency-Key': newKey() } }).catch(() => null)
  const said = await res?.json().catch(() => null)
  if (res?.ok && said) return location.assign('/chats/' + said.id)
  send.disabled = false
  const field = said?.validations?.[0]
  $('import-error').textContent = !said ? 'Not imported: Holdfast does not answer.' : field ? 'This file cannot be imported. ' + field.field + ': ' + field.detail : said.message + ' ' + (said.detail || '')
}
// An import shows how far it is: the browser knows, a plain form does not.
function upload(e, file) {
  e.preventDefault()
  const form = e.target, bar = form.querySelector('.progress'), began = Date.now(), req = new XMLHttpRequest()
  const [done, rate, left] = bar.querySelectorAll('[data-part]')
  bar.hidden = false
  req.upload.onprogress = p => {
    const per = p.loaded / Math.max(1, (Date.now() - began) / 1000)
    bar.querySelector('rect').setAttribute('width', Math.floor(100 * p.loaded / p.total) + '%')
    bar.querySelector('.track').setAttribute('aria-valuenow', Math.floor(100 * p.loaded / p.total))
    done.textContent = size(p.loaded) + ' of ' + size(p.total)
    rate.textContent = size(per) + '/s'
    left.textContent = p.loaded === p.total ? 'checking' : span(1000 * (p.total - p.loaded) / per) + ' left'
  }
  req.onload = () => {
    bar.hidden = true
    if (req.status === 200) apply(req.responseText)
    else if (req.status !== 204) toast('The import failed (' + req.status + ').')
  }
  req.onerror = () => { bar.hidden = true; toast('The import broke off: Holdfast does not answer.') }
  req.open('POST', form.action)
  req.setRequestHeader('Accept', 'text/html')
  // The size goes before the file: the server checks it while the bytes come.
  const data = new FormData()
  data.append('name', form.elements.name.value)
  data.append('size', file.files[0].size)
  data.append('file', file.files[0])
  req.send(data)
}
function size(n) {
  const units = ['B', 'KB', 'MB', 'GB']
  let u = 0
  while (n >= 1000 && u < 3) { n /= 1000; u++ }
  return (n >= 100 || u < 2 ? Math.round(n) : n.toFixed(1)) + ' ' + units[u]
}
// What queue.js works with.
window.holdfast = Object.freeze({ $, post, apply, parse, toast, compose, attach, nameFiles, acts })
})()
