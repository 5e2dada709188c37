// Dark or light: as the system has it, until somebody says otherwise.

import { h } from "./dom.js";

const NEXT = { auto: "light", light: "dark", dark: "auto" };
const SIGN = { auto: "◐", light: "☀", dark: "☾" };

function apply(theme) {
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
}

let theme = localStorage.getItem("xorec-theme") ?? "auto";
if (!(theme in NEXT)) theme = "auto";
apply(theme);

/** A button that goes from one to the next. */
export function themeButton() {
  const button = h("button", {
    class: "theme",
    type: "button",
    onclick: () => {
      theme = NEXT[theme];
      localStorage.setItem("xorec-theme", theme);
      apply(theme);
      label();
      document.dispatchEvent(new CustomEvent("xorec:theme"));
    },
  });
  function label() {
    button.textContent = SIGN[theme];
    button.setAttribute("aria-label", `Colours: ${theme}. Change`);
    button.title = `Colours: ${theme}`;
  }
  label();
  return button;
}
