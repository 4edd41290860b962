// Files of the message that is being written: chosen, dropped or pasted, uploaded at once, named by hidden fields of the composer.
(() => {
'use strict'
const $ = id => document.getElementById(id)
const most = 10 * 1024 * 1024, mostFiles = 20
// Text that is longer becomes a file when it is pasted.
const longText = 10000
const slot = () => 'files ' + ($('composer').dataset.chat || 'new')
const keep = ids => { try { ids.length ? localStorage.setItem(slot(), ids.join(' ')) : localStorage.removeItem(slot()) } catch { /* private mode keeps nothing */ } }
const kept = () => { try { return (localStorage.getItem(slot()) || '').split(' ').filter(Boolean) } catch { return [] } }
const refSlot = () => 'named ' + slot()
const keepNamed = paths => { try { paths.length ? localStorage.setItem(refSlot(), JSON.stringify(paths)) : localStorage.removeItem(refSlot()) } catch { /* as above */ } }
const keptNamed = () => { try { return JSON.parse(localStorage.getItem(refSlot())) || [] } catch { return [] } }
const chips = () => [...$('files').querySelectorAll('.is-file')]
const values = field => chips().map(c => c.querySelector('input[name=' + field + ']')?.value).filter(Boolean)
const ids = () => values('file')
const say = text => { $('files-said').textContent = text }
const complain = text => {
  $('composer-error').textContent = text
}

// What is here decides what else shows: the row itself, the warning of a model without eyes, whether a text is needed.
function changed() {
  const all = chips(), list = $('files')
  const choice = $('pick-model_config_id')?.selectedOptions[0]
  const blind = choice && 'blind' in choice.dataset && all.some(c => 'picture' in c.dataset)
  $('blind').hidden = !blind
  const words = blind ? choice.text.trim() + ' cannot see images' : ''
  if ($('blind').lastElementChild.textContent !== words) $('blind').lastElementChild.textContent = words
  list.hidden = !all.length
  $('composer-text').required = !ids().length && !values('ref').length && !sending.size
  $('composer-error').replaceChildren()
  keep(ids())
  keepNamed(values('ref'))
}

// Uploads under way, by their chip.
const sending = new Map()
function refused(name, problem) {
  const chip = $('file-sending').content.firstElementChild.cloneNode(true)
  chip.dataset.refused = ''
  chip.classList.add('danger')
  chip.querySelector('use').setAttribute('href', '#i-fail')
  chip.querySelector('.icon').classList.remove('is-run')
  const [what, why] = chip.querySelectorAll('span, small')
  what.textContent = what.title = name
  why.textContent = problem
  label(chip, 'Remove ' + name)
  return chip
}
function label(chip, text) {
  const button = chip.querySelector('button')
  button.setAttribute('aria-label', text)
  button.title = text
}
function upload(file) {
  const name = file.name || 'pasted text'
  if (file.size > most) {
    $('blind').before(refused(name, 'larger than 10 MiB'))
    say(name + ' is larger than 10 MiB')
    return changed()
  }
  const chip = $('file-sending').content.firstElementChild.cloneNode(true), req = new XMLHttpRequest()
  const [what, far] = chip.querySelectorAll('span, small')
  what.textContent = what.title = name
  label(chip, 'Cancel ' + name)
  chip.req = req
  $('blind').before(chip)
  say('Uploading ' + name)
  const done = new Promise(resolve => {
    req.upload.onprogress = p => { far.textContent = p.loaded < p.total ? Math.floor(100 * p.loaded / p.total) + ' %' : 'checking' }
    const end = next => {
      sending.delete(chip)
      const at = document.activeElement === chip.querySelector('button')
      chip.replaceWith(next)
      if (at) next.querySelector('button')?.focus()
      say('refused' in next.dataset ? name + ' was not attached' : name + ' is attached')
      changed()
      resolve()
    }
    req.onload = () => {
      const answer = document.createElement('template')
      if (req.status === 200) answer.innerHTML = req.responseText
      const next = answer.content.firstElementChild
      if (next && (ids().length < mostFiles || 'refused' in next.dataset)) return end(next)
      end(refused(name, next ? 'at most ' + mostFiles + ' files go into a message' : 'refused by Holdfast (' + req.status + ')'))
    }
    req.onerror = () => end(refused(name, 'Holdfast does not answer'))
    req.onabort = () => { sending.delete(chip); chip.remove(); say(name + ' is not attached'); changed(); resolve() }
  })
  sending.set(chip, done)
  changed()
  req.open('POST', '/files')
  req.setRequestHeader('X-File-Name', encodeURIComponent(file.name || ''))
  req.setRequestHeader('Content-Type', 'application/octet-stream')
  req.setRequestHeader('Accept', 'text/html')
  req.send(file)
}
async function show(list) {
  list = list.filter(id => !ids().includes(id)).slice(0, mostFiles)
  if (!list.length) return
  const res = await fetch('/files?' + list.map(id => 'id=' + encodeURIComponent(id)).join('&'), { headers: { Accept: 'text/html' } }).catch(() => null)
  if (!res?.ok) return
  const answer = document.createElement('template')
  answer.innerHTML = await res.text()
  $('blind').before(answer.content)
  changed()
}

function choose() {
  const input = document.createElement('input')
  input.type = 'file'
  input.multiple = true
  input.onchange = () => [...input.files].forEach(upload)
  input.click()
}
function unattach(button) {
  const chip = button.closest('.is-file'), next = chip.nextElementSibling?.querySelector('button') || chip.previousElementSibling?.querySelector('button') || $('composer-text')
  if (sending.has(chip)) chip.req.abort()
  else chip.remove()
  changed()
  next.focus()
}

// A message waits for its files; one that was refused must be taken out first.
async function submit(e) {
  if (chips().some(c => 'refused' in c.dataset)) {
    e.preventDefault()
    e.isWaiting = true
    return complain('Remove the file that was not attached, then send.')
  }
  if (!sending.size) return
  e.preventDefault()
  e.isWaiting = true
  complain('Sends as soon as the files are uploaded.')
  await Promise.all(sending.values())
  $('composer').requestSubmit()
}

// @ and the begin of a name list the files of the workspace; one that is taken goes along as it is when the message is sent.
const space = () => $('pick-workspace_id')?.value
let asked = null, wait = 0
function token() {
  const area = $('composer-text'), before = area.value.slice(0, area.selectionStart)
  // A slash at the very beginning asks for a skill.
  const found = area.selectionStart === area.selectionEnd && (/(?:^|\s)@([^\s@]*)$/.exec(before) || /^\/([a-z0-9:-]*)$/.exec(before))
  return found && { query: found[1], skill: before[0] === '/' && !/\s/.test(before), from: area.selectionStart - found[1].length - 1, to: area.selectionStart }
}
function hide() {
  asked?.abort()
  clearTimeout(wait)
  if ($('paths').matches(':popover-open')) $('paths').hidePopover()
  $('paths').replaceChildren()
  for (const a of ['aria-activedescendant', 'aria-controls', 'aria-autocomplete']) $('composer-text').removeAttribute(a)
}
function look() {
  clearTimeout(wait)
  const at = token()
  if (!at || !space()) return hide()
  wait = setTimeout(() => list(at.query, at.skill ? '/skills' : '/paths'), 120)
}
async function list(query, kind) {
  asked?.abort()
  asked = new AbortController()
  const res = await fetch('/workspaces/' + encodeURIComponent(space()) + kind + '?q=' + encodeURIComponent(query), { headers: { Accept: 'text/html' }, signal: asked.signal }).catch(() => null)
  if (!res?.ok || token()?.query !== query) return
  $('paths').innerHTML = await res.text()
  if (!$('paths').matches(':popover-open')) $('paths').showPopover()
  const found = options()
  // A path that begins with a slash is not a skill.
  if (kind === '/skills' && !found.length && query) return hide()
  const noun = kind === '/skills' ? ' skill' : ' file'
  say(found.length + noun + (found.length === 1 ? '' : 's'))
  $('composer-text').setAttribute('aria-autocomplete', 'list')
  $('composer-text').setAttribute('aria-controls', 'paths')
  mark(found[0])
}
const options = () => [...$('paths').querySelectorAll('[role=option]')]
function mark(option) {
  for (const o of options()) o.setAttribute('aria-selected', o === option)
  if (!option) return $('composer-text').removeAttribute('aria-activedescendant')
  $('composer-text').setAttribute('aria-activedescendant', option.id)
  option.scrollIntoView({ block: 'nearest' })
}
function choosing(e) {
  if (!$('paths').matches(':popover-open') || e.isComposing) return
  const all = options(), at = all.findIndex(o => o.getAttribute('aria-selected') === 'true')
  const does = {
    ArrowDown: () => mark(all[(at + 1) % all.length]), ArrowUp: () => mark(all[(at + all.length - 1) % all.length]),
    Enter: () => take(all[at].dataset.path), Tab: () => take(all[at].dataset.path), Escape: hide,
  }[e.key]
  if (!does || !all.length && e.key !== 'Escape') return
  e.preventDefault()
  e.stopImmediatePropagation()
  // Else the page would take Escape for an interrupt.
  e.stopPropagation()
  does()
}
function take(path) {
  const at = token(), area = $('composer-text')
  hide()
  if (at) area.setRangeText((at.skill ? '/' : '') + path + ' ', at.from, at.to, 'end')
  if (!at?.skill) nameFile(path)
  area.focus()
  area.dispatchEvent(new Event('input', { bubbles: true }))
}
function nameFile(path) {
  if (values('ref').includes(path)) return
  const chip = $('file-named').content.firstElementChild.cloneNode(true)
  chip.querySelector('span').textContent = chip.querySelector('span').title = chip.querySelector('input').value = path
  label(chip, 'Remove ' + path)
  $('blind').before(chip)
  say(path + ' goes along')
  changed()
}
function begin() {
  const area = $('composer-text')
  area.focus()
  if (!space()) return complain('Choose a folder first, then its files can be named.')
  const before = area.value.slice(0, area.selectionStart)
  area.setRangeText((before && !/\s$/.test(before) ? ' ' : '') + '@', area.selectionStart, area.selectionEnd, 'end')
  area.dispatchEvent(new Event('input', { bubbles: true }))
}

const carries = e => [...(e.dataTransfer?.types || [])].includes('Files')
document.addEventListener('DOMContentLoaded', () => {
  const form = $('composer'), area = $('composer-text')
  if (!area || !$('files')) return
  const here = form.closest('.main') || form
  const closed = () => !form.offsetParent || area.disabled
  document.addEventListener('click', e => {
    const act = e.target.closest('[data-act]')
    if (act?.dataset.act === 'attach') choose()
    if (act?.dataset.act === 'unattach') unattach(act)
    if (act?.dataset.act === 'name-file') begin()
  })
  form.addEventListener('submit', submit, true)
  document.addEventListener('change', e => { if (e.target.id === 'pick-model_config_id') changed() })
  // A form that leads to another page takes its files along.
  if (!form.dataset.chat) form.addEventListener('submit', e => { if (!e.defaultPrevented) { keep([]); keepNamed([]) } })
  addEventListener('sent', e => { for (const c of chips()) { const i = c.querySelector('input'); if (e.detail.some(([field, value]) => i?.name === field && i.value === value)) c.remove() } changed() })
  addEventListener('attach', e => show(e.detail))
  addEventListener('name-files', e => e.detail.forEach(nameFile))
  here.addEventListener('dragover', e => {
    if (!carries(e) || closed()) return
    e.preventDefault()
    e.dataTransfer.dropEffect = 'copy'
    form.classList.add('is-drop')
  })
  here.addEventListener('dragleave', e => { if (!here.contains(e.relatedTarget)) form.classList.remove('is-drop') })
  here.addEventListener('drop', e => {
    form.classList.remove('is-drop')
    if (!carries(e) || closed()) return
    e.preventDefault()
    ;[...e.dataTransfer.files].forEach(upload)
  })
  area.addEventListener('paste', e => {
    const files = [...(e.clipboardData?.files || [])], text = e.clipboardData?.getData('text/plain') || ''
    if (files.length && !text) {
      e.preventDefault()
      files.forEach(upload)
    } else if (text.length > longText) {
      e.preventDefault()
      upload(new File([text], 'pasted.txt', { type: 'text/plain' }))
    }
  })
  area.addEventListener('input', look)
  area.addEventListener('keydown', choosing, true)
  area.addEventListener('blur', () => setTimeout(() => { if (document.activeElement !== area) hide() }, 150))
  $('paths').addEventListener('pointerdown', e => { const to = e.target.closest('[data-path]'); if (to) { e.preventDefault(); take(to.dataset.path) } })
  keptNamed().forEach(nameFile)
  show(kept())
  changed()
})
})()
