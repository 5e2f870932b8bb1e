/**
 * Building and updating what is shown. Data becomes text nodes and attributes, never markup: task payloads and error texts are hostile.
 *
 * @typedef {Node | string | number | null | undefined | false | readonly any[]} Child
 * @typedef {string | number | boolean | null | undefined | ((event: any) => unknown)} Value
 * @typedef {Readonly<Record<string, Value>>} Props
 */

const SVG = 'http://www.w3.org/2000/svg';

/** Handlers are properties, so that an update can hand a node the latest ones. */
const HANDLERS = /** @type {const} */ ([
  'onclick',
  'onsubmit',
  'oninput',
  'onchange',
  'onpointermove',
  'onpointerleave',
]);

/**
 * An element of HTML. Of its properties, `on…` are handlers, `--…` are custom properties of its style, and everything else is an
 * attribute.
 * @param {string} tag with the classes that it always has: `p.pager.quiet`
 * @param {Props | Child} [first] its properties, or its first child
 * @param {...Child} rest
 * @returns {HTMLElement}
 */
export function h(tag, first, ...rest) {
  return /** @type {HTMLElement} */ (filled((name) => document.createElement(name), tag, first, rest));
}

/**
 * The same of SVG.
 * @param {string} tag
 * @param {Props | Child} [first]
 * @param {...Child} rest
 * @returns {SVGElement}
 */
export function svg(tag, first, ...rest) {
  return /** @type {SVGElement} */ (filled((name) => document.createElementNS(SVG, name), tag, first, rest));
}

/**
 * Changes the existing nodes into the wanted ones, node by node, so that focus, scrolling and typed text stay.
 * Matches a child by its key, never by position alone: a button stays the same button when others are inserted before it.
 * @param {Element} old
 * @param {Element} next
 */
export function morph(old, next) {
  morphAttributes(old, next);
  for (const name of HANDLERS) {
    const [from, to] = /** @type {[HTMLElement, HTMLElement]} */ ([next, old]);
    if (to[name] !== from[name]) to[name] = /** @type {any} */ (from[name]);
  }
  morphChildren(old, [...next.childNodes]);
}

/**
 * @param {(name: string) => Element} create
 * @param {string} tag
 * @param {Props | Child} first
 * @param {readonly Child[]} rest
 */
function filled(create, tag, first, rest) {
  const [kind = '', ...classes] = tag.split('.');
  const element = create(kind);
  if (classes.length > 0) element.setAttribute('class', classes.join(' '));
  const hasProps = typeof first === 'object' && first !== null && !(first instanceof Node) && !Array.isArray(first);
  const [props, children] = hasProps
    ? [/** @type {Props} */ (first), rest]
    : [{}, [/** @type {Child} */ (first), ...rest]];
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') /** @type {any} */ (element)[name] = value;
    else if (name.startsWith('--')) /** @type {HTMLElement} */ (element).style.setProperty(name, String(value));
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(9))
    if (child !== null && child !== undefined && child !== false)
      element.append(child instanceof Node ? child : String(child));
  return element;
}

/**
 * @param {Element} old
 * @param {Element} next
 */
function morphAttributes(old, next) {
  for (const { name } of [...old.attributes])
    // Whether a person has opened it is theirs to say.
    if (!next.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) === value) continue;
    // Style attributes count as inline styles, which the page's policy forbids; its object model does not.
    if (name === 'style') /** @type {HTMLElement} */ (old).style.cssText = value;
    else old.setAttribute(name, value);
  }
}

/**
 * @param {Element} parent
 * @param {readonly ChildNode[]} wanted
 */
function morphChildren(parent, wanted) {
  const known = keyed(parent.childNodes);
  /** @type {ChildNode | null} */
  let place = parent.firstChild;
  for (const [key, node] of keyed(wanted)) {
    const match = known.get(key);
    if (match === undefined) {
      parent.insertBefore(node, place);
      continue;
    }
    if (match === place) place = place.nextSibling;
    else parent.insertBefore(match, place);
    if (match instanceof Element && node instanceof Element) morph(match, node);
    else if (match.nodeValue !== node.nodeValue) match.nodeValue = node.nodeValue;
  }
  while (place !== null) {
    const rest = place;
    place = place.nextSibling;
    rest.remove();
  }
}

/**
 * Keys the nodes in order. The second of two equal nodes gets another key.
 * @param {Iterable<ChildNode>} nodes
 */
function keyed(nodes) {
  /** @type {Map<string, ChildNode>} */
  const byKey = new Map();
  /** @type {Map<string, number>} */
  const alike = new Map();
  for (const node of nodes) {
    const kind = keyOf(node);
    const number = alike.get(kind) ?? 0;
    alike.set(kind, number + 1);
    byKey.set(`${kind} ${number}`, node);
  }
  return byKey;
}

/** Identifies a node among its siblings: by its `data-key`, its link, its action, or its kind. @param {Node} node */
function keyOf(node) {
  if (!(node instanceof Element)) return node.nodeName;
  const given = ['data-key', 'href', 'name'].flatMap((name) => node.getAttribute(name) ?? []).slice(0, 1);
  const does =
    node.nodeName === 'BUTTON' ? (node.getAttribute('aria-label') ?? node.textContent) : node.getAttribute('class');
  return [node.nodeName, ...(given.length > 0 ? given : [does ?? ''])].join(' ');
}

/** A thing of its own within the page: a row of a table, a group, a card. */
const ROW = 'tr, [data-row]';

/** @param {Element | null} element */
export function rowOf(element) {
  return element?.closest(ROW) ?? null;
}

/** Focus for one whose own place is gone: the first link of its row, or the heading of the page. @param {Element | null} row */
export function focusNear(row) {
  const near = row?.isConnected === true ? row.querySelector('a, button, summary') : null;
  const place = near ?? document.querySelector('main h1') ?? document.getElementById('main');
  if (place instanceof HTMLElement) place.focus({ preventScroll: near === null });
}

/** Changes the page; when that takes away what has the focus, the focus goes near it. @param {() => void} change */
export function keepingFocus(change) {
  const focused = document.activeElement;
  const row = rowOf(focused);
  change();
  if (!(focused instanceof HTMLElement) || focused === document.activeElement) return;
  // A node that was moved within the page has lost the focus.
  if (focused.isConnected) focused.focus({ preventScroll: true });
  else focusNear(row);
}
