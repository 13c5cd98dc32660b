import { mount } from "svelte";
import App from "./App.svelte";
import "./theme.css";
import "./app.css";

const place = document.getElementById("app") ?? document.body;
place.replaceChildren(); // a page says that it is coming
export default mount(App, { target: place });
